"""Two arms with hands open a jar, pour its marbles into a bowl and close it: section X-E."""
