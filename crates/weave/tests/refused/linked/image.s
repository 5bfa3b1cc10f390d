; Read as it is, which is no linked file.
