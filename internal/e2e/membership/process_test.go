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

// process is a bot that serves. All processes of a world run in this test: a killed one is cut off from
// everything outside of it.
type process struct {
	w       *world
	label   string            // part of the names of its hosts; see splitHost
	network *faketest.Network // on which it serves HTTP
	gate    *gate             // to Redis; nil if it saves in files
	log     logtest.Buffer
	stop    context.CancelFunc
	ended   chan struct{} // closed when the bot has ended
	dead    atomic.Bool   // it was killed, or has ended
	// killIn is how many calls the process makes until it is killed, the last one included. It is 0 if the
	// process is not to be killed.
	killIn atomic.Int64
	// lastCallCarriedOut is whether the last of those calls has an effect.
	lastCallCarriedOut atomic.Bool
}

// serveAll starts n processes, and gives them time to connect.
func (w *world) serveAll(n int) {
	for range max(n, 1) {
		w.start()
	}
	w.wait(minute)
}

// start starts a process with the world's settings. If the store is broken, start fixes it, because no
// process would start.
func (w *world) start() {
	w.Helper()
	if w.faultOf("store") != works {
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
		p.linkFiles()
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

// process returns the process with a label, or nil.
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

// alive returns the processes that are not dead.
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

// isKilledByCall counts a call of the process, and reports whether the process is to be killed in it.
func (p *process) isKilledByCall() bool {
	return p.killIn.Load() > 0 && p.killIn.Add(-1) == 0
}

// die kills the process: it can no longer reach or change anything. It does not block.
func (p *process) die() {
	if p.dead.Swap(true) {
		return
	}
	p.w.note("%s is killed", p.label)
	if p.gate != nil {
		p.gate.shut()
	} else {
		p.unlinkFiles()
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

// linkFiles makes the DATA_DIR of the process a link to the folder that all processes share.
func (p *process) linkFiles() {
	_ = os.Remove(p.dataDir())
	_ = os.Symlink(filepath.Join(p.w.dir, "data"), p.dataDir())
}

// unlinkFiles makes the DATA_DIR of the process an empty file, so that the process cannot save or read
// anything. In an empty folder, the process would find that nothing is saved.
func (p *process) unlinkFiles() {
	_ = os.Remove(p.dataDir())
	_ = os.WriteFile(p.dataDir(), nil, 0o600)
}

func (p *process) dataDir() string { return filepath.Join(p.w.dir, p.label) }
