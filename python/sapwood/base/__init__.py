"""Small tools of all modules: checks of arguments, messages, files, blocks of matrices."""
