// Package mirrortest is a query.Store for tests.
package mirrortest

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Store is a query.Store in memory. Unlike a real store, it keeps values regardless of their ttl, and ignores contexts.
// Its zero value is empty and ready to use.
type Store struct {
	// Delay is how long each call takes.
	Delay time.Duration

	mu     sync.Mutex
	values map[string]string
	ttl    time.Duration // of the last Save
	saves  int           // the number of calls of Save
	fails  int           // the number of calls of Load that will fail
}

// Load implements query.Store.
func (s *Store) Load(_ context.Context, key string) ([]byte, error) {
	time.Sleep(s.Delay) // simulated time
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails > 0 {
		s.fails--
		return nil, errors.New("unavailable")
	}
	value, exists := s.values[key]
	if !exists {
		return nil, nil
	}
	return []byte(value), nil
}

// Save implements query.Store.
func (s *Store) Save(_ context.Context, key string, value []byte, ttl time.Duration) {
	time.Sleep(s.Delay) // simulated time
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(key, string(value))
	s.ttl = ttl
	s.saves++
}

func (s *Store) set(key, value string) {
	if s.values == nil {
		s.values = map[string]string{}
	}
	s.values[key] = value
}

// With returns a Store that holds one value.
func With(key, value string) *Store {
	s := new(Store)
	s.set(key, value)
	return s
}

// Fail makes the next n calls of Load fail.
func (s *Store) Fail(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = n
}

// Clear deletes all values.
func (s *Store) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = nil
}

// Value returns the value of key, or "" if there is none.
func (s *Store) Value(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[key]
}

// Saves returns how often Save was called, and the ttl of the last call.
func (s *Store) Saves() (n int, ttl time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saves, s.ttl
}
