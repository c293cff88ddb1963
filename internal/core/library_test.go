package core

import (
	"reflect"
	"testing"
	"time"

	gocache "github.com/patrickmn/go-cache"
)

func TestGoCacheStillCannotBeStopped(t *testing.T) {
	type constructor = func(ttl, sweepEvery time.Duration) *gocache.Cache
	if reflect.TypeOf(gocache.New) != reflect.TypeFor[constructor]() {
		t.Error("gocache.New has other parameters: see whether one stops the janitor, and put need not sweep")
	}
	if n := reflect.TypeFor[*gocache.Cache]().NumMethod(); n != 46 {
		t.Errorf("gocache.Cache has %d methods, not 46: see whether one stops the janitor, and put need not sweep", n)
	}
}
