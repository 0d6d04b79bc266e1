"""Networks made fast: exported to ONNX, quantised to int8 where asked, run by the quickest library that is there."""
