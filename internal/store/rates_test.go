package store

import (
	"testing"
	"time"
)

func TestReplicasShareLimits(t *testing.T) {
	s := server(t)
	one, two := replica(t, s), replica(t, s)
	one.Reserve(t.Context(), 0, minutely)
	wantSlots(t, "after another's", two, minutely, 2)
	wait := one.Peek(t.Context(), minutely)
	if wait < 50*time.Second || wait > time.Minute {
		t.Errorf("Peek returns %v", wait)
	}
	wait, ok := one.Reserve(t.Context(), 2*time.Minute, minutely)
	if !ok || wait < 50*time.Second {
		t.Errorf("a slot ahead: %v, %t", wait, ok)
	}
	if one.Fallbacks()+two.Fallbacks() > 0 {
		t.Errorf("%d calls were decided without Redis", one.Fallbacks()+two.Fallbacks())
	}
}

func TestNoLimitNeedsNoCall(t *testing.T) {
	s := server(t)
	s.SetError("LOADING")
	r := replica(t, s)
	wait, ok := r.Reserve(t.Context(), 0)
	if wait != 0 || !ok || r.Peek(t.Context()) != 0 || r.Fallbacks() > 0 {
		t.Errorf("%v, %t; %d calls were decided without Redis", wait, ok, r.Fallbacks())
	}
}

func TestWithoutRedisEachReplicaLimitsAlone(t *testing.T) {
	s := server(t)
	one, two := replica(t, s), replica(t, s)
	wantSlots(t, "with Redis", one, minutely, 3)
	s.SetError("LOADING")
	wantSlots(t, "at one", one, minutely, 3)
	wantSlots(t, "at two", two, minutely, 3)
	wait := one.Peek(t.Context(), minutely)
	if wait == 0 {
		t.Error("Peek does not know what was reserved")
	}
}

func TestFullBucketsAreForgottenInRedis(t *testing.T) {
	s := server(t)
	wantSlots(t, "all", replica(t, s), minutely, 3)
	s.FastForward(3 * time.Minute)
	if len(s.Keys()) > 0 {
		t.Errorf("the server has %v", s.Keys())
	}
}
