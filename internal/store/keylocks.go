package store

import "sync"

// keyLocks is a set of locks, one for each key. Its zero value is ready for use.
type keyLocks struct {
	mu sync.Mutex
	// held has a channel for each key whose lock is held. unlock closes it.
	held map[string]chan struct{}
}

// lock blocks until the caller holds the lock of key. The caller must call unlock.
func (l *keyLocks) lock(key string) (unlock func()) {
	for {
		unlocked, taken := l.tryLock(key)
		if taken {
			return func() { l.unlock(key) }
		}
		<-unlocked
	}
}

// tryLock takes the lock of key, unless it is held. If it is held, unlocked is closed when it is released.
func (l *keyLocks) tryLock(key string) (unlocked <-chan struct{}, taken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held, isHeld := l.held[key]
	if isHeld {
		return held, false
	}
	if l.held == nil {
		l.held = map[string]chan struct{}{}
	}
	l.held[key] = make(chan struct{})
	return nil, true
}

// unlock releases the lock of key. The caller holds it.
func (l *keyLocks) unlock(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.held[key])
	delete(l.held, key)
}
