package app

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"herald/commands"
)

// Each package that has Settings has a part in Config; if it also has New, it is a
// platform, a service or a store, and something is made of it.
func TestEveryPlatformAndServiceIsWired(t *testing.T) {
	var files []string
	for _, rooms := range []string{"../*/*.go", "../platform/*/*.go", "../service/*/*.go"} {
		found, _ := filepath.Glob(rooms)
		files = append(files, found...)
	}
	code := map[string]string{} // by package
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "_test.go") {
			code[filepath.Base(filepath.Dir(file))] += string(content)
		}
	}
	wired := 0
	for name, source := range code {
		for has, line := range map[string]string{"\ntype Settings struct": name + ".Settings", "\nfunc New(": name + ".New("} {
			switch {
			case !strings.Contains(source, "\ntype Settings struct") || !strings.Contains(source, has):
			case strings.Contains(code["app"], line):
				wired++
			default:
				t.Errorf("internal/app lacks %s: a platform goes into platforms.go, a service into services.go", line)
			}
		}
	}
	options := reflect.ValueOf(mustLoad(t, everySetting(), "").options())
	for i := range options.NumField() {
		if options.Field(i).IsZero() {
			t.Errorf("commands.Options.%s is empty with every setting: options in settings.go does not set it", options.Type().Field(i).Name)
		}
	}
	sources := reflect.TypeFor[commands.Sources]()
	for i := range sources.NumField() {
		if name := sources.Field(i).Name; !strings.Contains(code["app"], "\t"+name+": ") {
			t.Errorf("commands.Sources.%s is nil: connect in services.go does not set it", name)
		}
	}
	if wired < 10 {
		t.Errorf("only %d lines of wiring are found", wired)
	}
}
