#!/usr/bin/env bash
# What a GPU is asked first: pieces of less than ten minutes, forty in all, that need no thought.
#
#   benchmarks/gpu_plan.sh GAMES OUT            all pieces that are not done yet, one after the other
#   benchmarks/gpu_plan.sh GAMES OUT PIECE ...  only these
#   benchmarks/gpu_plan.sh --dry-run GAMES OUT  the same on a CPU with next to nothing: does it all work?
#
# GAMES is a folder of PGN files whose names have `train`, `val` or `test` in them, plain or compressed. After each piece
# lies in OUT/parcels what is worth keeping of it, in files of 15 MiB at most: weights, metrics, tables, speeds. A piece
# that is cut off goes on where it stopped when it is called again. `python benchmarks/gpu_plan.py --list` names them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
words=() options=()
for word in "$@"; do
  case $word in --*) options+=("$word") ;; *) words+=("$word") ;; esac
done
if [ ${#words[@]} -lt 2 ]; then
  sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
games=${words[0]} out=${words[1]} pieces=("${words[@]:2}")
python=${PYTHON:-python3}
export PYTHONUNBUFFERED=1 PYTHONPATH=$here/..:$here/../games${PYTHONPATH:+:$PYTHONPATH}
if [ ${#pieces[@]} -eq 0 ]; then
  mapfile -t pieces < <("$python" "$here/gpu_plan.py" --list)
fi
for piece in "${pieces[@]}"; do
  # Trainings end by themselves after eight minutes; an interrupt saves the state of one that does not.
  timeout --signal INT --kill-after 20 "${LIMIT:-590}" \
    "$python" "$here/gpu_plan.py" "$games" "$out" --piece "$piece" "${options[@]}" || echo "$piece: not done; the same command goes on" >&2
done
