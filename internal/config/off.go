package config

import (
	"fmt"
	"strings"
)

// OrOff also takes Off, as the zero value.
func OrOff[T any](read func(string) (T, error)) func(string) (T, error) {
	return func(value string) (v T, err error) {
		if value == Off {
			return v, nil
		}
		if v, err = read(value); err != nil {
			err = fmt.Errorf("%w, or must be off", err)
		}
		return v, err
	}
}

// BaseURLWithout is BaseURL for an address to which paths are appended: with one
// of them in it already, it would be doubled.
func BaseURLWithout(paths ...string) func(string) (string, error) {
	return func(value string) (string, error) {
		base, err := BaseURL(value)
		for _, path := range paths {
			if strings.Contains(base, path) {
				return "", fmt.Errorf("must be without %s, which is appended", path)
			}
		}
		return base, err
	}
}
