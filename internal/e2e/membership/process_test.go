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
	w       *world
	label   string
	network *faketest.Network // on which it serves HTTP
	gate    *gate             // to Redis; nil if it saves in files
	log     logtest.Buffer
	stop    context.CancelFunc
	ended   chan struct{}
	dead    atomic.Bool
	// killIn is how many calls the process still makes until one kills it; 0: none does.
	killIn atomic.Int64
	// carriedOut is whether the call that kills it has its effect.
	carriedOut atomic.Bool
}

// process returns the process with this label, or nil.
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

// start starts a process with the world's settings. It first fixes a broken store, without which no
// process starts.
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
	cfg, err := app.Load(w.environ(p), "", app.ToServe)
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

// call counts a call of the process. It returns whether the call kills the process, and then whether
// the call has its effect.
func (p *process) call() (dies, carriedOut bool) {
	return p.killIn.Load() > 0 && p.killIn.Add(-1) == 0, p.carriedOut.Load()
}

// die kills the process: from now on it has no effect.
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
