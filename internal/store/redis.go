package store

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	"golang.org/x/sync/singleflight"

	"herald/internal/chat"
)

// Redis is state shared between replicas, on Redis 5 or later. It implements
// chat.Dedup, chat.Limiter, core.Store and credits.Store.
//
// A call that fails twice, or that Redis twice does not answer within 50 ms or the
// read_timeout of its URL, is decided by the memory of this process. So are all others
// until Redis answers again: limits then hold for each replica by itself, and an update
// that is delivered to two replicas may be answered by both.
//
// An update in flight is claimed. The claim is renewed while the update is in flight,
// however late its answer. Claims of a dead process expire.
type Redis struct {
	client *redis.Client
	memory *Memory
	log    *slog.Logger
	salt   []byte
	owner  string        // marks the claims of this process
	claim  time.Duration // the lifetime of a claim
	up     atomic.Bool   // the last call was answered in time
	pings  singleflight.Group

	mu sync.Mutex
	// updates holds what Redis should know of updates, by key. The zero time is a claim
	// of this process. Any other time stands for an answered update of which Redis does not
	// know yet, and is when the update is forgotten.
	updates map[string]time.Time

	stop        context.CancelFunc
	maintaining sync.WaitGroup
	fallbacks   atomic.Uint64
}

const (
	// connections is how many are made, and kept, unless the URL says otherwise.
	connections = 20
	// maxValue bounds the bytes of a value that Load returns. The largest is the
	// history of quotes: 2,976 points of some 40 bytes, or 80 where prices have many
	// digits.
	maxValue = 256 << 10
)

// NewRedis makes a Redis and starts to connect in the background. Keys are hashed with
// salt, a secret that all replicas of one deployment share. claim, of at least a second,
// is how long the updates of a dead process stay claimed. NewRedis fails on a malformed
// URL, which the error does not repeat.
func NewRedis(s Settings, salt []byte, claim time.Duration, log *slog.Logger) (*Redis, error) {
	options, err := redis.ParseURL(s.RedisURL.Reveal())
	if err != nil {
		return nil, errors.New("the Redis URL is malformed")
	}
	// These bound the two parts of a call apart: the wait for a connection, and Redis. A
	// context's deadline would bound both together.
	options.PoolTimeout, options.DialTimeout = connectTimeout, connectTimeout
	options.ReadTimeout = cmp.Or(options.ReadTimeout, callTimeout)
	options.WriteTimeout = options.ReadTimeout
	options.PoolSize = cmp.Or(options.PoolSize, connections)
	options.MinIdleConns = options.PoolSize
	// Each connection is used in turn, so that the server closes none as idle: a TLS
	// handshake takes longer than a call.
	options.PoolFIFO = true
	options.ConnMaxIdleTime = -1
	options.MaxRetries = -1 // not after each kind of broken connection; ask does it
	options.DialerRetries = 1
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	// The client would write to standard error by itself. It has one logger
	// for the process.
	redis.SetLogger(&logging.VoidLogger{})
	ctx, stop := context.WithCancel(context.Background())
	r := &Redis{
		client: redis.NewClient(options), memory: NewMemory(), log: log, salt: salt,
		owner: rand.Text(), claim: claim, updates: map[string]time.Time{}, stop: stop,
	}
	r.up.Store(true)
	r.maintaining.Go(func() { r.maintain(ctx) })
	return r, nil
}

// Close stops renewing claims and closes the connections.
func (r *Redis) Close() error {
	r.stop()
	err := r.client.Close()
	r.maintaining.Wait()
	return err
}

// Fallbacks returns the number of calls so far that were decided without Redis.
func (r *Redis) Fallbacks() uint64 { return r.fallbacks.Load() }

// Up reports whether Redis answered the last call in time. It is true before the first.
func (r *Redis) Up() bool { return r.up.Load() }

// key returns the key of id in Redis: a hash, because id may be personal.
func (r *Redis) key(kind, id string) string {
	mac := hmac.New(sha256.New, r.salt)
	mac.Write([]byte(kind + " " + id))
	return "herald:" + kind + ":" + hex.EncodeToString(mac.Sum(nil)[:16])
}

// Load returns the value that a replica saved under key. It returns false if there is
// none, if it is larger than 256 KiB, or if Redis does not answer.
func (r *Redis) Load(ctx context.Context, key string) ([]byte, bool) {
	var value []byte
	reached := r.ask(ctx, func(ctx context.Context) (err error) {
		value, err = r.client.GetRange(ctx, r.key("answer", key), 0, maxValue).Bytes()
		if redis.HasErrorPrefix(err, "WRONGTYPE") {
			return nil // Another program's; the next Save replaces it.
		}
		return err
	})
	return value, reached && len(value) > 0 && len(value) <= maxValue
}

// Save sets the value of key for all replicas for ttl, of at least 1 ms, if Redis answers.
// value must not be empty, and must hold nothing personal.
func (r *Redis) Save(ctx context.Context, key string, value []byte, ttl time.Duration) {
	r.ask(ctx, func(ctx context.Context) error {
		return r.client.Set(ctx, r.key("answer", key), value, ttl).Err()
	})
}

// swap sets a key to ARGV[2] for ARGV[3] milliseconds if the key holds ARGV[1]. A missing
// key, or one of another type, holds "".
var swap = redis.NewScript(`
local held = redis.pcall("GET", KEYS[1])
if type(held) ~= "string" then held = "" end
if held ~= ARGV[1] then return 0 end
redis.call("SET", KEYS[1], ARGV[2], "PX", ARGV[3])
return 1`)

// Swap saves value and returns true if old is the value of key; an empty old stands for
// no value. It returns false if the value is another, or if Redis does not answer. In the
// second case value may have been saved. The ttl is at least 1 ms.
func (r *Redis) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) bool {
	swapped := false
	reached := r.ask(ctx, func(ctx context.Context) (err error) {
		swapped, err = swap.Run(ctx, r.client, []string{r.key("answer", key)}, old, value, ttl.Milliseconds()).Bool()
		return err
	})
	return reached && swapped
}

// answered is the value of an answered update in Redis. The value of an update in flight is
// the owner of the claim. It expires if the claim is not renewed.
const answered = "answered"

// These scripts replace values of another type, and values that never expire: the bot
// writes none.
var (
	claimUpdate = redis.NewScript(`
local holder = redis.pcall("GET", KEYS[1])
if type(holder) == "string" and redis.call("PTTL", KEYS[1]) >= 0 then return holder end
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
return ""`)
	// setUpdate sets the value of an update to ARGV[2] for ARGV[3] milliseconds, or deletes
	// it if ARGV[2] is empty. Another process may have claimed the update since the claim of
	// ARGV[1] expired: only "answered" replaces such a claim.
	setUpdate = redis.NewScript(`
local holder = redis.pcall("GET", KEYS[1])
if type(holder) == "string" and holder ~= ARGV[1] and ARGV[2] ~= "answered" then return 0 end
if ARGV[2] == "" then return redis.call("DEL", KEYS[1]) end
redis.call("SET", KEYS[1], ARGV[2], "PX", ARGV[3])
return 1`)
)

// maxUpdates bounds the answered updates in Redis.updates, at some 100 bytes each.
const maxUpdates = 10_000

// Claim implements chat.Dedup. The memory of this process counts first: it may have
// answered while Redis was away.
func (r *Redis) Claim(ctx context.Context, key string) chat.Delivery {
	if known := r.memory.Claim(ctx, key); known != chat.New {
		return known
	}
	var holder string
	shared := r.key("update", key)
	reached := r.ask(ctx, func(ctx context.Context) (err error) {
		holder, err = claimUpdate.Run(ctx, r.client, []string{shared}, r.owner, r.claim.Milliseconds()).Text()
		return err
	})
	switch {
	case !reached, holder == "", holder == r.owner: // the last where ask made the call twice
		r.mu.Lock()
		defer r.mu.Unlock()
		r.updates[shared] = time.Time{}
		return chat.New
	case holder == answered:
		r.memory.Release(ctx, key, true, 0)
		return chat.Answered
	}
	r.memory.Release(ctx, key, false, 0)
	return chat.InFlight
}

// Release implements chat.Dedup.
func (r *Redis) Release(ctx context.Context, key string, isAnswered bool, lasts time.Duration) {
	r.memory.Release(ctx, key, isAnswered, lasts)
	shared, value := r.key("update", key), ""
	r.mu.Lock()
	delete(r.updates, shared)
	if isAnswered && len(r.updates) < maxUpdates {
		r.updates[shared] = time.Now().Add(lasts)
	}
	r.mu.Unlock()
	if isAnswered {
		value = answered
	}
	r.sync(ctx, shared, value, lasts)
}

// sync sets the value of an update in Redis: the owner, answered, or none if value is
// empty. It reports whether Redis answered, and then deletes an answered update from
// r.updates.
func (r *Redis) sync(ctx context.Context, shared, value string, lasts time.Duration) bool {
	synced := r.ask(ctx, func(ctx context.Context) error {
		return setUpdate.Run(ctx, r.client, []string{shared}, r.owner, value, max(1, lasts.Milliseconds())).Err()
	})
	if synced && value == answered {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.updates, shared)
	}
	return synced
}

// renew renews the claims of this process, and syncs the updates that were answered while
// Redis was away.
func (r *Redis) renew(ctx context.Context) {
	r.mu.Lock()
	updates := maps.Clone(r.updates)
	r.mu.Unlock()
	for shared, until := range updates {
		value, lasts := r.owner, r.claim
		if !until.IsZero() {
			value, lasts = answered, time.Until(until)
		}
		if !r.sync(ctx, shared, value, lasts) {
			return
		}
	}
}

// reserve does what MemoryLimiter.Reserve does, in microseconds of the server's clock,
// which all replicas share. ARGV are within, and for each key its Count, its Window, and
// how long its bucket takes to get an event back, or 0. It returns the wait, and reserves
// nothing if the wait is longer than within.
//
// A key holds the time of the last call. Relative to that follow the slots of its window,
// or when its bucket will be full again. So no time passes while the clock is set back.
// A value of another form, or one that is months ahead, is replaced.
var reserve = redis.NewScript(`
local clock = redis.call("TIME")
local now, slot, limits = clock[1] * 1000000 + clock[2], 0, {}
for i, key in ipairs(KEYS) do
	local count, window, every = tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i]), tonumber(ARGV[3 * i + 1])
	local used, text, passed = {}, redis.pcall("GET", key), nil
	if type(text) == "string" and string.find(text, "^%d+[%d -]*$") and not string.find(text, " " .. string.rep("%d", 14)) then
		for number in string.gmatch(text, "-?%d+") do
			local at = tonumber(number)
			if not passed then
				passed = math.max(0, now - at)
			elseif at - passed > -window then
				table.insert(used, at - passed)
			end
		end
	end
	local first = used[#used] or 0
	if every > 0 then
		first = first - window + every
	elseif #used >= count then
		first = math.max(first, used[#used - count + 1] + window)
	end
	slot = math.max(slot, first)
	limits[i] = {used = used, window = window, every = every}
end
for i, key in ipairs(KEYS) do
	local used, l = limits[i].used, limits[i]
	if slot <= tonumber(ARGV[1]) then
		if l.every > 0 then
			used = {math.max(used[1] or 0, slot) + l.every}
		else
			table.insert(used, slot)
		end
	end
	local needed = used[#used] or 0
	if l.every == 0 then needed = needed + l.window end
	redis.call("SET", key, string.format("%.0f ", now) .. table.concat(used, " "), "PX", math.max(1, math.ceil(needed / 1000)))
end
return slot`)

// Reserve implements chat.Limiter. It notes in this process what Redis gives out, so that
// losing Redis gives nobody as much again.
func (r *Redis) Reserve(ctx context.Context, within time.Duration, limits ...chat.Limit) (wait time.Duration, ok bool) {
	keys, args := make([]string, len(limits)), []any{within.Microseconds()}
	for i, l := range limits {
		keys[i] = r.key("limit", l.Key)
		every := int64(0)
		if l.Refill {
			every = l.Every().Microseconds()
		}
		args = append(args, l.Count, l.Window.Microseconds(), every)
	}
	var micros int64
	reached := r.ask(ctx, func(ctx context.Context) (err error) {
		micros, err = reserve.Run(ctx, r.client, keys, args...).Int64()
		return err
	})
	if !reached {
		return r.memory.Reserve(ctx, within, limits...)
	}
	wait = time.Duration(micros) * time.Microsecond
	if wait > within {
		return wait, false
	}
	r.memory.note(wait, limits)
	return wait, true
}
