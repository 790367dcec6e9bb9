"""Records a task in a person's own Chrome, with an unpacked extension that sends the same reports as the harness's own
browser. `packing` writes the extension's folder, and `receiving` makes signals of what it sends."""
