package commands

// Invalid words what core finds wrong with an argument.
var Invalid = invalid
