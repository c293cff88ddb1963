// Package configtest tests the settings of a package, given their table.
package configtest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"herald/internal/config"
)

// Canary marks values that no error may repeat.
const Canary = "CANARY"

// Read returns the content of a file, such as config.example.env.
func Read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// File writes a file that a setting can name, and returns its path.
func File(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Golden fails the test unless a file has the content got, and prints the difference. If update is set,
// it first writes the file.
func Golden(t *testing.T, path, got string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := Read(t, path); got != want {
		t.Errorf("%s differs, %s\n`go test %s -update` rewrites it", path, difference(want, got), tested())
	}
}

// difference describes how two texts differ: the number of the first line that differs, and up to five lines of each
// text that the other lacks. If both have the same lines in another order or number, it shows five lines of each text
// from the first difference.
func difference(want, got string) string {
	wantLines := strings.Split(want, "\n")
	gotLines := strings.Split(got, "\n")
	same := 0 // how many lines at the beginning are the same
	for same < min(len(wantLines), len(gotLines)) && wantLines[same] == gotLines[same] {
		same++
	}
	missing := without(wantLines, gotLines)
	added := without(gotLines, wantLines)
	if len(missing)+len(added) == 0 {
		missing = wantLines[same:]
		added = gotLines[same:]
	}
	return fmt.Sprintf("first in line %d\n- %s\n+ %s", same+1,
		strings.Join(firstFive(missing), "\n- "),
		strings.Join(firstFive(added), "\n+ "))
}

// without returns the lines that are not in others.
func without(lines, others []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return slices.Contains(others, line)
	})
}

func firstFive(lines []string) []string { return lines[:min(len(lines), 5)] }

// tested returns the path of the package under test, such as "./internal/app".
func tested() string {
	info, _ := debug.ReadBuildInfo()
	return "./" + strings.TrimSuffix(strings.TrimPrefix(info.Path, "herald/"), ".test")
}

// Environ returns an environment in which a setting has its Example if it is required, or if it and another setting
// need each other. changes are NAME=value strings. Each replaces a setting of the environment or adds one.
func Environ(table []config.Setting, changes ...string) []string {
	environ := changes
	for _, s := range table {
		isChanged := slices.ContainsFunc(changes, func(change string) bool {
			return strings.HasPrefix(change, s.Name+"=")
		})
		if (s.Required || needEachOther(table, s)) && !isChanged {
			environ = append(environ, s.Name+"="+s.Example)
		}
	}
	return environ
}

// needEachOther reports whether s and another setting of the table need each other.
func needEachOther(table []config.Setting, s config.Setting) bool {
	return slices.ContainsFunc(table, func(other config.Setting) bool {
		return slices.Contains(s.Needs, other.Name) && slices.Contains(other.Needs, s.Name)
	})
}

// Try fills the table from Environ, and returns the mistakes.
func Try(table []config.Setting, changes ...string) config.Errors {
	given, _ := config.Collect(Environ(table, changes...), "")
	return given.Fill(table)
}

// Fill fills the table from Environ, and ends the test if there is a mistake.
func Fill(t *testing.T, table []config.Setting, changes ...string) {
	t.Helper()
	if mistakes := Try(table, changes...); len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
}

// Refuses fails the test unless the setting called name refuses each value, with an error that contains
// message. Any other setting that a setting of the table needs has its example.
func Refuses(t *testing.T, table []config.Setting, name, message string, values ...string) {
	t.Helper()
	var needed []string
	for _, s := range table {
		isNeeded := func(other config.Setting) bool { return needs(other, s.Name) }
		if s.Name != name && slices.ContainsFunc(table, isNeeded) {
			needed = append(needed, s.Name+"="+cmp.Or(s.Example, s.Default))
		}
	}
	for _, value := range values {
		OneMistake(t, table, Try(table, append(needed, name+"="+value)...), name, message)
	}
}

// needs reports whether s needs the setting called name. Of the settings in NeedsOneOf, it counts only the last as
// needed.
func needs(s config.Setting, name string) bool {
	if slices.Contains(s.Needs, name) {
		return true
	}
	return len(s.NeedsOneOf) > 0 && s.NeedsOneOf[len(s.NeedsOneOf)-1] == name
}

// OneMistake fails the test unless there is one error. It must be about the setting called name,
// contain message, give the setting's example, and not repeat the value.
func OneMistake(t *testing.T, table []config.Setting, mistakes config.Errors, name, message string) {
	t.Helper()
	if len(mistakes) != 1 {
		t.Errorf("%s: %d mistakes, want one: %q", name, len(mistakes), mistakes)
		return
	}
	line := mistakes[0]
	i := slices.IndexFunc(table, func(s config.Setting) bool { return s.Name == name })
	example := "; for example " + name + "=" + cmp.Or(table[i].Example, table[i].Default)
	if !strings.HasPrefix(line, name+": ") || !strings.Contains(line, message) {
		t.Errorf("%s: the line is not about the setting, or lacks %q: %s", name, message, line)
	}
	if !strings.HasSuffix(line, example) {
		t.Errorf("%s: the line lacks its example: %s", name, line)
	}
	if strings.Contains(line, Canary) || strings.ContainsAny(line, "\n\x00") {
		t.Errorf("%s: the line repeats the value: %s", name, line)
	}
}
