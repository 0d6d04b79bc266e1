#!/usr/bin/env bash
# What a GPU is asked in half an hour: pieces of less than nine minutes, none of which needs another.
#
#   benchmarks/gpu_plan.sh --prepare GAMES [PARCELS]  here: lays into .gpu/ what a bare machine lacks, says what to call
#   benchmarks/gpu_plan.sh OUT PIECE ...              there: does pieces; what is worth keeping of them comes to OUT
#   benchmarks/gpu_plan.sh OUT --collect [--record]   here: shows what came back in OUT, appends it to the results
#
# Pieces: check set-4x64 set speed rise-single rise-separated resnet-single rise-staged resnet-separated self-play;
# without any, all.
# GAMES is a folder of PGN files whose names have `train`, `val` or `test` in them, plain or compressed; PARCELS one of
# what came back from another machine, to go on from. What is done already is not done again.
#
#   --dry-run                 next to nothing, on a CPU: does it all work?
#   --quick                   check, speed and self-play in a third of the time
#   --device=cuda:1           another GPU than the first
#   --minutes=4 --epochs=0.5  of every training, as long as that
#   --games=.gpu/games --parcels=.gpu/parcels --work=/tmp/moemcts-gpu   other folders
#
# PYTHON names the interpreter. LIMIT is the seconds of a call, 540: what is cut off then is saved and packed, which takes
# up to 40 more. Exit status: 0 all done, 75 cut off and gone on with by the same command, 1 a piece failed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
python=${PYTHON:-python3} limit=${LIMIT:-540}
script=gpu_plan.py words=() options=()
for word in "$@"; do
  case $word in
    --prepare) script=gpu_prepare.py ;;
    --collect) script=collect options+=("$word") ;;
    --dry-run | --quick | --record | --*=*) options+=("$word") ;;
    --*) echo "gpu_plan.sh: expected an option like --minutes=4, got $word" >&2 && exit 2 ;;
    *) words+=("$word") ;;
  esac
done
if [ ${#words[@]} -lt 1 ]; then
  sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
export PYTHONUNBUFFERED=1 PYTHONPATH=$root:$root/games${PYTHONPATH:+:$PYTHONPATH}
case $script in
  gpu_prepare.py) exec "$python" "$here/$script" "${words[@]}" ${options[@]+"${options[@]}"} ;;
  collect) exec "$python" "$here/gpu_plan.py" "${words[0]}" "${options[@]}" ;;
esac

if ! "$python" -c 'import moemcts._core, pydantic, tomli_w' 2>/dev/null; then
  if [ ! -e "$root/.gpu/_core.abi3.so" ]; then
    echo "gpu_plan.sh: moemcts is not installed; expected $root/.gpu from --prepare on another machine" >&2
    exit 1
  fi
  cp "$root/.gpu/_core.abi3.so" "$root/moemcts/"
  export PYTHONPATH=$PYTHONPATH:$root/.gpu/site
fi
# Of a copy without its history.
if [ -e "$root/moemcts/_core.abi3.so" ] && [ -e "$root/.gpu/commit" ]; then
  MOEMCTS_COMMIT=$(cat "$root/.gpu/commit") && export MOEMCTS_COMMIT
fi
out=${words[0]} pieces=("${words[@]:1}") status=0
if [ ${#pieces[@]} -eq 0 ]; then
  pieces=(check set-4x64 set speed rise-single rise-separated resnet-single rise-staged resnet-separated self-play)
fi
for piece in "${pieces[@]}"; do
  left=$((limit - SECONDS)) ended=75
  if [ $left -ge 20 ]; then
    ended=0
    timeout --preserve-status --signal INT --kill-after 40 "$left" \
      "$python" "$here/gpu_plan.py" "$out" --piece="$piece" ${options[@]+"${options[@]}"} || ended=$?
  else
    echo "$piece: no time left, not begun" >&2
  fi
  case $ended in
    0) ;;
    75) [ $status -ne 0 ] || status=75 ;;
    *) echo "$piece: FAILED with status $ended" >&2 && status=1 ;;
  esac
done
exit $status
