; Read with blanks behind it, one more than a text may have.
