"""Rows and labels in the forms of other tools: Label Studio and Prodigy. Nothing here knows the engine or HTTP."""
