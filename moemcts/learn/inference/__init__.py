"""Fast inference: networks exported to ONNX, quantised to int8 on request, and run by the fastest library here."""
