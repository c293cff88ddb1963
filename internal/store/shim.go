package store

import "context"

// Load returns a value of the bucket "members". The former package members calls it.
func (m *Memory) Load(ctx context.Context, key string) ([]byte, error) {
	return m.Bucket("members").Load(ctx, key)
}

// Replace replaces a value of the bucket "members". The former package members calls it.
func (m *Memory) Replace(ctx context.Context, key string, old, value []byte) (replaced bool, err error) {
	return m.Bucket("members").Replace(ctx, key, old, value)
}
