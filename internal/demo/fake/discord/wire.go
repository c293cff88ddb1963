package discord

import (
	"time"

	"herald/internal/demo/fake"
)

// Wire is a network in memory, so that a bot and its Discord can live in
// simulated time.
type Wire = fake.Network

// NewWire makes a network without connections. It takes 50 ms to connect, so that
// what happens between two connections happens in this order.
func NewWire() *Wire {
	w := fake.NewNetwork()
	w.DialTime = 50 * time.Millisecond
	return w
}
