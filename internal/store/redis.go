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
// chat.Dedup, chat.Limiter, core.Store and members.Store. Saved addresses
// never expire there; everything else does.
//
// Redis retries a call once if it fails or is not answered within 50 ms (or the
// read_timeout of the URL). If the retry fails too, the memory of this process decides the
// call, and all later calls until Redis answers again. Meanwhile limits hold for each
// replica by itself, and two replicas may both answer an update that each of them got.
//
// Claim claims an update. The claim is renewed until Release, and expires if the process
// dies.
type Redis struct {
	client   *redis.Client
	memory   *Memory
	log      *slog.Logger
	salt     []byte
	owner    string        // marks the claims of this process
	claimTTL time.Duration // of a claim that is not renewed
	up       atomic.Bool   // the last call was answered in time
	pings    singleflight.Group

	mu sync.Mutex
	// updates maps the keys of updates to what is to be synced. The zero time is a claim of
	// this process, to be renewed. Any other time means that the update is answered, that
	// Redis does not know yet, and when Redis shall forget the update.
	updates map[string]time.Time

	stop        context.CancelFunc
	maintaining sync.WaitGroup
	fallbacks   atomic.Uint64
}

// connections is the size of the connection pool unless the URL says otherwise.
const connections = 20

// NewRedis returns a Redis that connects in the background. It hashes keys with salt, a
// secret that all replicas of one deployment share. claimTTL is how long the updates of a
// dead process stay claimed, at least a second. NewRedis fails on a malformed URL; the
// error does not hold the URL.
func NewRedis(s Settings, salt []byte, claimTTL time.Duration, log *slog.Logger) (*Redis, error) {
	options, err := redis.ParseURL(s.RedisURL.Reveal())
	if err != nil {
		return nil, errors.New("the Redis URL is malformed")
	}
	// The wait for a connection and the wait for Redis have limits of their own. A context's
	// deadline would be one limit for both.
	options.PoolTimeout, options.DialTimeout = connectTimeout, connectTimeout
	options.ReadTimeout = cmp.Or(options.ReadTimeout, callTimeout)
	options.WriteTimeout = options.ReadTimeout
	options.PoolSize = cmp.Or(options.PoolSize, connections)
	options.MinIdleConns = options.PoolSize
	// Each connection is used in turn, so that the server closes none as idle: a TLS
	// handshake takes longer than a call.
	options.PoolFIFO = true
	options.ConnMaxIdleTime = -1
	options.MaxRetries = -1 // none by the client: ask retries
	options.DialerRetries = 1
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	// The client would log to standard error. Its logger is a global of the process.
	redis.SetLogger(&logging.VoidLogger{})
	ctx, stop := context.WithCancel(context.Background())
	r := &Redis{
		client: redis.NewClient(options), memory: NewMemory(), log: log, salt: salt,
		owner: rand.Text(), claimTTL: claimTTL, updates: map[string]time.Time{}, stop: stop,
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

// answered is the value of an answered update in Redis. The value of an update in flight is
// the owner of its claim.
const answered = "answered"

var (
	// claimUpdate sets the value of a new update to ARGV[1] for ARGV[2] milliseconds and
	// returns "", or returns the value that the update has. It replaces a value that never
	// expires.
	claimUpdate = redis.NewScript(get + `
local holder = get(KEYS[1])
if holder ~= "" and redis.call("PTTL", KEYS[1]) >= 0 then return holder end
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
return ""`)
	// setUpdate sets the value of an update to ARGV[2] for ARGV[3] milliseconds, or deletes
	// the value if ARGV[2] is empty. If another process than ARGV[1] holds the claim, because
	// the claim of ARGV[1] expired, only "answered" replaces it.
	setUpdate = redis.NewScript(get + `
local holder = get(KEYS[1])
if holder ~= "" and holder ~= ARGV[1] and ARGV[2] ~= "answered" then return 0 end
if ARGV[2] == "" then return redis.call("DEL", KEYS[1]) end
redis.call("SET", KEYS[1], ARGV[2], "PX", ARGV[3])
return 1`)
)

// maxUpdates bounds the answered updates in Redis.updates, at some 100 bytes each.
const maxUpdates = 10_000

// Claim implements chat.Dedup. It asks the memory of this process before Redis, because
// Redis may not know yet of an update that was answered while it was away.
func (r *Redis) Claim(ctx context.Context, key string) chat.Delivery {
	if known := r.memory.Claim(ctx, key); known != chat.New {
		return known
	}
	var holder string
	sharedKey := r.key("update", key)
	reached := r.ask(ctx, func(ctx context.Context) (err error) {
		holder, err = claimUpdate.Run(ctx, r.client, []string{sharedKey}, r.owner, r.claimTTL.Milliseconds()).Text()
		return err
	})
	switch {
	case !reached, holder == "", holder == r.owner: // r.owner if ask has retried the call
		r.mu.Lock()
		defer r.mu.Unlock()
		r.updates[sharedKey] = time.Time{}
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
	sharedKey, value := r.key("update", key), ""
	r.mu.Lock()
	delete(r.updates, sharedKey)
	if isAnswered && len(r.updates) < maxUpdates {
		r.updates[sharedKey] = time.Now().Add(lasts)
	}
	r.mu.Unlock()
	if isAnswered {
		value = answered
	}
	r.sync(ctx, sharedKey, value, lasts)
}

// sync sets the value of an update in Redis to the owner or to answered, or deletes the
// value if it is empty. sync reports whether Redis answered, and then deletes an answered
// update from r.updates.
func (r *Redis) sync(ctx context.Context, sharedKey, value string, lasts time.Duration) bool {
	synced := r.ask(ctx, func(ctx context.Context) error {
		return setUpdate.Run(ctx, r.client, []string{sharedKey}, r.owner, value, max(1, lasts.Milliseconds())).Err()
	})
	if synced && value == answered {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.updates, sharedKey)
	}
	return synced
}

// renew renews the claims of this process, and syncs the updates that were answered while
// Redis was away.
func (r *Redis) renew(ctx context.Context) {
	r.mu.Lock()
	updates := maps.Clone(r.updates)
	r.mu.Unlock()
	for sharedKey, until := range updates {
		value, lasts := r.owner, r.claimTTL
		if !until.IsZero() {
			value, lasts = answered, time.Until(until)
		}
		if !r.sync(ctx, sharedKey, value, lasts) {
			return
		}
	}
}

// reserve does what MemoryLimiter.Reserve does, in microseconds of the server's clock,
// which all replicas share. ARGV holds within, and for each key the limit's Count, Window
// and, if the limit refills, Every, else 0. reserve returns the wait, and reserves nothing
// if the wait is longer than within.
//
// The value of a key is the time of the last call and then times relative to the last
// call: the slots in the window, or the time at which the bucket is full again. Relative
// times stand still while the server's clock is set back. reserve replaces a value of
// another form, and one with a time that is months ahead.
var reserve = redis.NewScript(get + `
local clock = redis.call("TIME")
local now, slot, limits = clock[1] * 1000000 + clock[2], 0, {}
for i, key in ipairs(KEYS) do
	local count, window, every = tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i]), tonumber(ARGV[3 * i + 1])
	local used, text, passed = {}, get(key), nil
	if string.find(text, "^%d+[%d -]*$") and not string.find(text, " " .. string.rep("%d", 14)) then
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

// Reserve implements chat.Limiter. It notes each slot that Redis gives out in the memory of
// this process, so that a fallback does not give out the slot again.
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
