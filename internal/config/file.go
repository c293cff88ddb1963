package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// ReadFile reads a UTF-8 file of at most limit bytes, without the byte order mark
// that some editors begin it with. Its errors continue a sentence that begins
// with the file, and do not name it: a secret may have been given in place of
// a path.
func ReadFile(path string, limit int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot be opened: %w", WithoutPath(err))
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", WithoutPath(err))
	}
	if int64(len(content)) > limit {
		return "", fmt.Errorf("is larger than %d bytes", limit)
	}
	if !utf8.Valid(content) {
		return "", errors.New("is not UTF-8 text; save it as that")
	}
	return strings.TrimPrefix(string(content), "\ufeff"), nil
}

// WithoutPath is err of package os without the path, in place of which a secret
// may have been given.
func WithoutPath(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err
	}
	return err
}

func readSecretFile(name, path string) (string, error) {
	const limit = 64 << 10
	content, err := ReadFile(path, limit)
	if err != nil {
		return "", fmt.Errorf("the file named by %s %w", name, err)
	}
	text := trim(content)
	if text == "" {
		return "", fmt.Errorf("the file named by %s is empty", name)
	}
	return text, nil
}
