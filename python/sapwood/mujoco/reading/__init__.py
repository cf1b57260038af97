"""Models as the C core reads them: their arrays, their parameters, what is supported."""
