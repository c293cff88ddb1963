package platformtest

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// StillLacks fails if the type of library has a method of this name, or a member in its JSON; then
// canGo of ours can go. The type of ours, if any, must have it, so that no call is misspelt or
// outlives its use. The second of two names is that in ours; then the spelling of the first is not
// checked.
func StillLacks(t *testing.T, library, ours any, names, canGo string) {
	t.Helper()
	name := strings.Fields(names)
	if has(reflect.TypeOf(library), name[0]) {
		t.Errorf("%T has %s now: what can go is %s", library, name[0], canGo)
	}
	if ours != nil && !has(reflect.TypeOf(ours), name[len(name)-1]) {
		t.Errorf("%T has no %s", ours, name[len(name)-1])
	}
}

// has reports whether a type has the method, or the member in its JSON.
func has(of reflect.Type, name string) bool {
	_, method := of.MethodByName(name)
	if method || of.Kind() != reflect.Struct {
		return method
	}
	return slices.ContainsFunc(reflect.VisibleFields(of), func(f reflect.StructField) bool {
		return strings.Split(f.Tag.Get("json"), ",")[0] == name
	})
}
