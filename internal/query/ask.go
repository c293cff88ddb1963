package query

import (
	"context"
	"sync"
)

// Answer is the result of Source.Get: a Snapshot, or Err and the zero Snapshot.
type Answer[V any] struct {
	Snapshot[V]
	Err error
}

// Ask asks one source. It blocks as Source.Get does.
func Ask[K, V any](ctx context.Context, source Source[K, V], key K) (answer Answer[V]) {
	answer.Snapshot, answer.Err = source.Get(ctx, key)
	return answer
}

// Both asks two sources at once. It blocks until both have answered or failed.
func Both[J, A, K, B any](
	ctx context.Context, a Source[J, A], j J, b Source[K, B], k K,
) (first Answer[A], second Answer[B]) {
	var asking sync.WaitGroup
	asking.Go(func() { first = Ask(ctx, a, j) })
	second = Ask(ctx, b, k)
	asking.Wait()
	return first, second
}
