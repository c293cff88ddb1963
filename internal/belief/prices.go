package belief

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"herald/internal/core"
	"herald/internal/mirror"
	"herald/internal/query"
	"herald/internal/ratelimit"
)

// reloadEvery is the minimum time between two attempts to read the stores, if one could not be read at the start.
const reloadEvery = time.Minute

// Series keeps the prices that were believed, in the same stores as Prices. It is safe for concurrent use.
type Series interface {
	// Prices returns the prices so far, sorted by time.
	Prices() []core.PricedAt
	// Add adds the price of a believed quote.
	Add(core.Quote)
	// Load, Sync and IsLoaded are the methods of mirror.Mirror.
	Load()
	Sync()
	IsLoaded() bool
}

// Config configures Prices. All fields are required.
type Config struct {
	// Source answers with the provider's quotes.
	Source query.Source[struct{}, *core.Quote]
	// Token identifies the token and its provider. Beliefs about other tokens are stored under other keys.
	Token  string
	Series Series
	Stores []query.Store
	Log    *slog.Logger
}

// Prices is a query.Source of quotes that are believed. For a doubtful quote it returns a DoubtError. It adds each
// fresh answer that is believed to the Series once, regardless of which replica fetched it. It is safe for concurrent
// use, and must be closed.
type Prices struct {
	source  query.Source[struct{}, *core.Quote]
	series  Series
	stored  *storedBelief
	mirror  *mirror.Mirror
	loading sync.Once
	// reloads limits how often the stores are read again.
	reloads *ratelimit.Memory
	log     *slog.Logger

	mu   sync.Mutex
	last verdict // about the newest answer
}

// NewPrices returns Prices. It does not ask the Source, and does not read the stores.
func NewPrices(c Config) *Prices {
	stored := new(storedBelief)
	return &Prices{
		source:  c.Source,
		series:  c.Series,
		stored:  stored,
		mirror:  mirror.New("belief in a price", "belief "+c.Token, maxAge, stored, c.Stores, c.Log),
		reloads: ratelimit.NewMemory(),
		log:     c.Log,
	}
}

// Get implements query.Source. It blocks for at most 400 ms longer than Config.Source, in up to four exchanges with the
// stores of 100 ms each: one at the start, one per minute until all stores have been read, and two when a doubt begins.
func (p *Prices) Get(ctx context.Context, none struct{}) (query.Snapshot[*core.Quote], error) {
	answer, err := p.source.Get(ctx, none)
	if err != nil {
		return answer, err
	}
	if answer.Stale {
		return p.Peek(answer)
	}
	return p.record(answer).apply(answer)
}

// Peek judges an answer of Config.Source as Get does, but remembers nothing.
func (p *Prices) Peek(answer query.Snapshot[*core.Quote]) (query.Snapshot[*core.Quote], error) {
	return p.judge(answer).apply(answer)
}

// Close saves the belief. It must be called once, after the last call of Get.
func (p *Prices) Close() { p.mirror.Close() }

// verdict is whether an answer is believed.
type verdict struct {
	at    time.Time   // of the answer
	quote *core.Quote // as memory.judge returned it
	doubt *DoubtError // nil: the quote is believed
	// hasLasted is true if the quote is believed only because its price has been doubted for believedAfter.
	hasLasted bool
}

// apply returns the answer with the verdict's quote. If the quote is doubtful, it returns a DoubtError about the
// answer.
func (v verdict) apply(answer query.Snapshot[*core.Quote]) (query.Snapshot[*core.Quote], error) {
	if v.doubt != nil {
		return query.Snapshot[*core.Quote]{}, &DoubtError{Answer: answer, Last: v.doubt.Last}
	}
	answer.Value = v.quote
	return answer, nil
}

// judge returns the verdict on an answer. It remembers nothing.
func (p *Prices) judge(answer query.Snapshot[*core.Quote]) verdict {
	p.load()
	b := p.stored.get()
	quote, doubt := p.memoryWith(b).judge(answer)
	v := verdict{at: answer.At, quote: quote, doubt: doubt}
	if doubt != nil && b.hasDoubtedLongEnough(quote.Price, answer.At) {
		v.doubt = nil
		v.hasLasted = true
	}
	return v
}

// memoryWith returns the memory of quotes that were believed within maxAge, from the Series and from b.
func (p *Prices) memoryWith(b belief) memory {
	m := memory{Count: b.Count, CapLags: b.CapLags}
	for _, price := range p.series.Prices() {
		if time.Since(price.At) < maxAge {
			m.Prices = append(m.Prices, price)
		}
	}
	// The Series does not keep every price. b has the last one.
	believed := core.PricedAt{At: b.BelievedAt, Price: b.BelievedPrice}
	last, exists := m.last()
	isNewest := !exists || believed.At.After(last.At)
	if isNewest && believed.IsPlausible() && time.Since(believed.At) < maxAge {
		m.Prices = append(m.Prices, believed)
	}
	return m
}

// record returns the verdict on an answer. If the answer is newer than all earlier ones, record also remembers the
// verdict.
func (p *Prices) record(answer query.Snapshot[*core.Quote]) verdict {
	p.load()
	last := p.lastVerdict()
	isJudgedAlready := last.at.Equal(answer.At)
	if isJudgedAlready {
		return last
	}
	if !p.isLoaded() && p.reloads.Allow(ratelimit.Limit{Burst: 1, Every: reloadEvery}) {
		p.sync()
	}
	v := p.judge(answer)
	beginsDoubt := v.doubt != nil && !p.stored.get().isInDoubt()
	if beginsDoubt || v.hasLasted {
		// Another replica may know more.
		p.sync()
		v = p.judge(answer)
	}
	switch p.remember(v) {
	case quoteBelieved:
		p.series.Add(*v.quote)
	case doubtBegan:
		p.log.Warn("the price is doubtful, and nothing is valued by it", "err", v.doubt)
		p.sync()
	}
	return v
}

func (p *Prices) lastVerdict() verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// effect is the change that a verdict makes to the belief.
type effect int

const (
	// noChange: the verdict is not about the newest answer, or a doubt continues.
	noChange effect = iota
	// quoteBelieved: the quote is now the last believed quote. A doubt, if there was one, is over.
	quoteBelieved
	// doubtBegan: the quote is doubted, and was not before.
	doubtBegan
)

// remember changes the belief by a verdict. It ignores the verdict if the answer is not the newest one, or if a store
// has not been read yet.
func (p *Prices) remember(v verdict) effect {
	if !p.isLoaded() {
		return noChange // The stores may contain prices that contradict v.
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	isNewest := v.at.After(p.last.at)
	if !isNewest {
		return noChange
	}
	p.last = v
	if v.doubt == nil {
		p.stored.believe(v)
		return quoteBelieved
	}
	isNewDoubt := p.stored.doubt(v)
	if isNewDoubt {
		return doubtBegan
	}
	return noChange
}

// load merges what the stores have into the memory. Later calls have no effect.
func (p *Prices) load() {
	p.loading.Do(func() { inParallel(p.series.Load, p.mirror.Load) })
}

// sync merges what the stores have into the memory, and saves the memory. It blocks for at most 100 ms.
func (p *Prices) sync() { inParallel(p.series.Sync, p.mirror.Sync) }

// inParallel calls a and b, and blocks until both have returned.
func inParallel(a, b func()) {
	var running sync.WaitGroup
	running.Go(a)
	b()
	running.Wait()
}

func (p *Prices) isLoaded() bool { return p.series.IsLoaded() && p.mirror.IsLoaded() }
