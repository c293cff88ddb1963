package membership

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"

	"herald/internal/app"
	"herald/internal/demo/fake/faketest"
	"herald/internal/secret/logtest"
)

// process is a bot that serves.
type process struct {
	w     *world
	label string
	// network is the one of its HTTP_ADDR.
	network *faketest.Network
	gate    *gate // nil without Redis
	log     logtest.Buffer
	stop    context.CancelFunc
	ended   chan struct{}
	dead    atomic.Bool
	// killIn counts the calls down to the one that the process does not survive; 0: there is
	// none. carriedOut says whether that call has its effect.
	killIn     atomic.Int64
	carriedOut atomic.Bool
}

// process returns the process of a label, or nil.
func (w *world) process(label string) (found *process) {
	w.locked(func() {
		for _, p := range w.processes {
			if p.label == label {
				found = p
			}
		}
	})
	return found
}

// alive returns the processes that serve.
func (w *world) alive() (list []*process) {
	w.locked(func() {
		for _, p := range w.processes {
			if !p.dead.Load() {
				list = append(list, p)
			}
		}
	})
	return list
}

// start starts a process with the world's settings. None starts with a broken store.
func (w *world) start() {
	w.Helper()
	if w.faultOf("store") != "" {
		w.breakStore(false)
	}
	p := &process{w: w, network: faketest.NewNetwork(), ended: make(chan struct{})}
	w.locked(func() {
		p.label = fmt.Sprintf("p%d", len(w.processes))
		if w.redis != nil {
			p.gate = w.gates[len(w.processes)]
		}
		w.processes = append(w.processes, p)
	})
	if p.gate == nil {
		data := filepath.Join(w.dir, "data")
		_ = os.Mkdir(data, 0o700)
		p.linkFiles(true)
	}
	cfg, err := app.Load(w.environ(p), "", true)
	if err != nil {
		w.Fatalf("load the settings: %v", err)
	}
	listen := func(string, string) (net.Listener, error) { return p.network, nil }
	bot, err := app.NewListening(cfg, app.NewLogger(cfg, &p.log), listen)
	if err != nil {
		w.Fatalf("make the bot: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	go func() {
		defer close(p.ended)
		defer bot.Close()
		if err := bot.Run(ctx); err != nil {
			w.fail("the bot ended: %v", err)
		}
	}()
}

// call counts a call of the process, and returns whether the process dies by it.
func (p *process) call() (dies, carriedOut bool) {
	return p.killIn.Load() > 0 && p.killIn.Add(-1) == 0, p.carriedOut.Load()
}

// die ends all effects of the process at once.
func (p *process) die() {
	if p.dead.Swap(true) {
		return
	}
	p.w.note("%s is killed", p.label)
	if p.gate != nil {
		p.gate.shut()
	} else {
		p.linkFiles(false)
	}
	_ = p.network.Close()
	p.network.Break()
	p.stop()
}

// leave stops the process as SIGTERM does, and blocks until it has ended.
func (p *process) leave() {
	p.stop()
	<-p.ended
	p.dead.Store(true)
	p.network.Break()
}

// stopAll stops every process.
func (w *world) stopAll() {
	for _, p := range w.alive() {
		p.leave()
	}
	for _, p := range w.processes {
		<-p.ended
	}
}

// serveAll starts n processes, and gives them time to connect.
func (w *world) serveAll(n int) {
	for range max(n, 1) {
		w.start()
	}
	w.wait(minute)
}
