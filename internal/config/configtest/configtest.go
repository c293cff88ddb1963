// Package configtest tests the settings of a package by its table.
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

// File writes a file for a setting to name, and returns its path.
func File(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Golden compares what was got with a file, and prints their difference. With update it writes
// the file instead.
func Golden(t *testing.T, path, got string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := Read(t, path); got != want {
		t.Errorf("%s differs, %s\n`go test %s -update` writes it anew", path, difference(want, got), tested())
	}
}

// difference returns the number of the first line that differs, and the first five lines that
// each text has and the other has not. If there are none, because lines moved or are doubled, it
// returns the first five lines from there on.
func difference(want, got string) string {
	lines, now, same := strings.Split(want, "\n"), strings.Split(got, "\n"), 0
	for same < min(len(lines), len(now)) && lines[same] == now[same] {
		same++
	}
	gone := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(now, line) })
	added := slices.DeleteFunc(slices.Clone(now), func(line string) bool { return slices.Contains(lines, line) })
	if len(gone)+len(added) == 0 {
		gone, added = lines[same:], now[same:]
	}
	return fmt.Sprintf("first in line %d\n- %s\n+ %s", same+1,
		strings.Join(gone[:min(len(gone), 5)], "\n- "), strings.Join(added[:min(len(added), 5)], "\n+ "))
}

// tested returns the package whose tests run, as in "./internal/app".
func tested() string {
	info, _ := debug.ReadBuildInfo()
	return "./" + strings.TrimSuffix(strings.TrimPrefix(info.Path, "herald/"), ".test")
}

// Environ returns an environment in which every required setting has its example, and so has each of those that are
// set together or not at all. NAME=value strings change it.
func Environ(table []config.Setting, changes ...string) []string {
	environ := changes
	for _, s := range table {
		changed := slices.ContainsFunc(changes, func(c string) bool { return strings.HasPrefix(c, s.Name+"=") })
		if (s.Required || isSetTogether(table, s)) && !changed {
			environ = append(environ, s.Name+"="+s.Example)
		}
	}
	return environ
}

// isSetTogether reports whether s and another setting of the table need each other.
func isSetTogether(table []config.Setting, s config.Setting) bool {
	return slices.ContainsFunc(table, func(other config.Setting) bool {
		return slices.Contains(s.Needs, other.Name) && slices.Contains(other.Needs, s.Name)
	})
}

// Try fills the table from Environ and returns what is wrong.
func Try(table []config.Setting, changes ...string) config.Errors {
	given, _ := config.Collect(Environ(table, changes...), "")
	return given.Fill(table)
}

// Fill fills the table from Environ and fails the test if anything is wrong.
func Fill(t *testing.T, table []config.Setting, changes ...string) {
	t.Helper()
	if mistakes := Try(table, changes...); len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
}

// Refuses fails unless each of the values is refused for the setting called name, with
// an error that contains told. Settings that others of the table need are set, and of several
// of which one is needed, the last.
func Refuses(t *testing.T, table []config.Setting, name, told string, values ...string) {
	t.Helper()
	var needed []string
	for _, s := range table {
		if s.Name != name && slices.ContainsFunc(table, func(other config.Setting) bool {
			return slices.Contains(other.Needs, s.Name) ||
				len(other.NeedsOneOf) > 0 && s.Name == other.NeedsOneOf[len(other.NeedsOneOf)-1]
		}) {
			needed = append(needed, s.Name+"="+cmp.Or(s.Example, s.Default))
		}
	}
	for _, value := range values {
		OneMistake(t, table, Try(table, append(needed, name+"="+value)...), name, told)
	}
}

// OneMistake fails unless there is one error, about the setting called name, that
// contains told, gives the setting's example and repeats no value.
func OneMistake(t *testing.T, table []config.Setting, mistakes config.Errors, name, told string) {
	t.Helper()
	if len(mistakes) != 1 {
		t.Errorf("%s: want one mistake, got %d: %q", name, len(mistakes), mistakes)
		return
	}
	line := mistakes[0]
	i := slices.IndexFunc(table, func(s config.Setting) bool { return s.Name == name })
	if !strings.HasPrefix(line, name+": ") || !strings.Contains(line, told) ||
		!strings.HasSuffix(line, "; for example "+name+"="+cmp.Or(table[i].Example, table[i].Default)) {
		t.Errorf("%s: the line lacks its name, its example or %q: %s", name, told, line)
	}
	if strings.Contains(line, Canary) || strings.ContainsAny(line, "\n\x00") {
		t.Errorf("%s: the line repeats the value: %s", name, line)
	}
}
