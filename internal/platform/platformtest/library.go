package platformtest

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// StillLacks fails the test if a library's type has a member that we added in code of our own. That code, described by
// canGo, can then be removed. library is a value of the library's type. The member is a method, or a field by its name
// in JSON. Unless ours is nil, it is a value of our own type, which must have the member: a misspelled name fails.
func StillLacks(t *testing.T, library, ours any, member, canGo string) {
	t.Helper()
	if hasMember(reflect.TypeOf(library), member) {
		t.Errorf("%T has %s now: what can go is %s", library, member, canGo)
	}
	if ours != nil && !hasMember(reflect.TypeOf(ours), member) {
		t.Errorf("%T has no %s", ours, member)
	}
}

// hasMember reports whether a type has a method, or a field by its name in JSON.
func hasMember(of reflect.Type, member string) bool {
	_, isMethod := of.MethodByName(member)
	if isMethod || of.Kind() != reflect.Struct {
		return isMethod
	}
	return slices.ContainsFunc(reflect.VisibleFields(of), func(f reflect.StructField) bool {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name == member
	})
}
