package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// parseEnviron reads NAME=value strings and drops those without a value.
func parseEnviron(environ []string) map[string]string {
	vars := map[string]string{}
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if value = strings.TrimSpace(value); value != "" {
			vars[name] = value
		}
	}
	return vars
}

func readEnvFile(path string) (map[string]string, error) {
	const limit = 1 << 20
	content, err := ReadFile(path, limit)
	if err != nil {
		return nil, fmt.Errorf("the file %w", err)
	}
	return parseEnvFile(content)
}

// parseEnvFile reads lines of KEY=value; the last of a repeated key counts. A
// line may begin with "export ". A value may stand in single or double quotes,
// which are removed and end the value; nothing is expanded. Blank lines and
// lines that begin with # are skipped, and so is a # after white space behind a
// value. Errors name wrong lines by their number.
func parseEnvFile(content string) (map[string]string, error) {
	vars := map[string]string{}
	var wrong []error
	for i, line := range strings.Split(content, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, err := parseEnvLine(line)
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Errorf("line %d %w", i+1, err))
		case value == "":
			delete(vars, name)
		default:
			vars[name] = value
		}
	}
	return vars, Join(wrong)
}

func parseEnvLine(line string) (name, value string, err error) {
	name, value, found := strings.Cut(line, "=")
	if rest, exported := strings.CutPrefix(name, "export"); exported && strings.TrimLeft(rest, " \t") != rest {
		name = strings.TrimSpace(rest)
	}
	name = strings.TrimSpace(name)
	if !found || !variableName.MatchString(name) {
		return "", "", errors.New("is not of the form KEY=value")
	}
	value, err = unquote(value)
	return name, value, err
}

// trailingComment is not a # at the very start of a value or within it.
var trailingComment = regexp.MustCompile(`\s#.*$`)

// unquote removes quotes, and the white space and comment around a value.
func unquote(raw string) (string, error) {
	value := strings.TrimSpace(raw)
	if value == "" || value[0] != '"' && value[0] != '\'' {
		return strings.TrimSpace(trailingComment.ReplaceAllString(raw, "")), nil
	}
	inside, after, closed := strings.Cut(value[1:], value[:1])
	if !closed || trailingComment.ReplaceAllString(after, "") != "" {
		return "", errors.New("has a quoted value that does not end with the line")
	}
	return strings.TrimSpace(inside), nil
}
