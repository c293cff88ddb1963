package config

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"syscall"
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// parseEnviron reads NAME=value strings, of which the last with a name counts,
// and drops those without a value.
func parseEnviron(environ []string) map[string]value {
	vars := map[string]value{}
	for _, line := range environ {
		name, raw, _ := strings.Cut(line, "=")
		if v := readValue(raw); v.isSet() {
			vars[name] = v
		}
	}
	return vars
}

// readEnvFile fails if the file cannot be read, with what to do about it; wrong
// is about lines of it.
func readEnvFile(path string) (vars map[string]value, wrong, err error) {
	const limit = 1 << 20
	content, err := ReadFile(path, limit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, errors.New("there is no such file. Make one with `cp config.example.env herald.env`, fill it in, " +
			"and give it as --env-file herald.env")
	case errors.Is(err, syscall.EISDIR):
		return nil, nil, errors.New("this is a folder. Give a file in it, for example --env-file herald.env")
	case errors.Is(err, fs.ErrPermission):
		return nil, nil, errors.New("the user that runs Herald may not read the file. Let them, for example with `chown`, " +
			"or run Herald as the file's owner")
	case err != nil:
		return nil, nil, fmt.Errorf("the file %w", err)
	}
	vars, wrong = parseEnvFile(content)
	return vars, wrong, nil
}

// parseEnvFile reads lines of KEY=value, as value describes; a line may begin
// with "export ". Blank lines and lines that begin with # are skipped. A key may
// have one value beside empty ones. Errors name wrong lines by their number.
func parseEnvFile(content string) (map[string]value, error) {
	vars := map[string]value{}
	var wrong []error
	for i, line := range strings.Split(content, "\n") {
		line = trim(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, raw, found := strings.Cut(line, "=")
		if rest, exported := strings.CutPrefix(name, "export"); exported && strings.TrimLeft(rest, " \t") != rest {
			name = rest
		}
		name = trim(name)
		v := readValue(raw)
		v.line = i + 1
		earlier := vars[name]
		switch {
		case !found || !variableName.MatchString(name):
			wrong = append(wrong, fmt.Errorf("line %d is not of the form KEY=value; for example LOG_LEVEL=info", v.line))
		case earlier.isSet() && v.text != earlier.text:
			wrong = append(wrong, fmt.Errorf("line %d gives %s another value than line %d; keep one of them", v.line, shown(name), earlier.line))
		case !earlier.isSet():
			vars[name] = v
		}
	}
	return vars, Join(wrong)
}
