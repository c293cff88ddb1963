package config

// WrongError is the error of a check that finds a setting wrong which is right
// in form.
type WrongError struct {
	Problem string
	// Settings are those to look at; empty if Problem names them.
	Settings string
}

func (e *WrongError) Error() string { return e.Problem }
