package app

import (
	"crypto/sha256"
	"io"
	"log/slog"
	"os"

	"herald/internal/claim"
	"herald/internal/ops"
	"herald/internal/query"
	"herald/internal/ratelimit"
	"herald/internal/store"
)

// state is what the bot remembers beyond one command. If REDIS_URL is set, it is in Redis, and replicas share it.
// Otherwise each process has its own, in memory and in the folder DATA_DIR.
type state struct {
	claims  claim.Claims      // rights to answer an update or settle a user, once among replicas
	limiter ratelimit.Limiter // the rate limits
	redis   *store.Redis      // nil if REDIS_URL is not set
	folder  *store.Folder     // nil if DATA_DIR is not set
	// stores are redis and folder, each unless it is nil. The first one saves addresses and the answers of services;
	// all save quotes.
	stores []persistent
	// rows is where addresses are saved. It is zero if none can be saved.
	rows rowStore
}

// persistent is a store that keeps values after the process has ended.
type persistent interface {
	query.Store
	io.Closer
	// Bucket opens the part of the store with this name.
	Bucket(name string) store.Bucket
	// Former opens the part where older versions of Herald saved addresses.
	Former() store.Bucket
}

// rowStore is where addresses are saved, in rows of package members.
type rowStore struct {
	// bucket opens a part of a store.
	bucket func(name string) store.Bucket
	// former is where older versions of Herald saved rows.
	former store.Bucket
	// formerIsShared is true if other bots may have rows in former.
	formerIsShared bool
}

// canSave reports whether addresses can be saved.
func (s rowStore) canSave() bool { return s.bucket != nil }

// openAndLock opens the state of a bot that runs. It locks DATA_DIR, and fails with a config.Errors if another process
// has locked it.
func openAndLock(cfg *Config, metrics *ops.Metrics, log *slog.Logger) (*state, error) {
	s, err := openState(cfg, metrics, log)
	if err != nil || s.folder == nil {
		return s, err
	}
	if err := s.folder.Lock(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// openToLook opens the state of a bot for Check. It works beside a running bot: it neither locks nor creates DATA_DIR,
// and only reads the saved addresses there.
func openToLook(cfg *Config, metrics *ops.Metrics, log *slog.Logger) (*state, error) {
	withoutFolder := *cfg
	withoutFolder.Store.DataDir = ""
	s, err := openState(&withoutFolder, metrics, log)
	if err != nil {
		return nil, err
	}
	dir := cfg.Store.DataDir
	_, err = os.Stat(dir) // A bot that never ran has not made the folder yet.
	folderExists := dir != "" && err == nil
	if folderExists && s.redis == nil {
		s.rows = rowsIn(store.NewFolder(dir, log), cfg)
	}
	return s, nil
}

// openState opens the stores that the settings name. It does not lock DATA_DIR.
func openState(cfg *Config, metrics *ops.Metrics, log *slog.Logger) (*state, error) {
	memory := store.NewMemory()
	s := &state{claims: memory, limiter: memory}
	if cfg.Store.RedisURL.IsSet() {
		salt := sha256.Sum256([]byte("herald state " + cfg.saltSecret()))
		redis, err := store.NewRedis(cfg.Store, salt[:], cfg.redisID(), log)
		if err != nil {
			return nil, err
		}
		metrics.ExportRedis(redis.Up, redis.Fallbacks)
		s = &state{claims: redis, limiter: redis, redis: redis, stores: []persistent{redis}}
	}
	if dir := cfg.Store.DataDir; dir != "" {
		s.folder = store.NewFolder(dir, log)
		s.stores = append(s.stores, s.folder)
	}
	if len(s.stores) == 0 {
		return s, nil
	}
	lacksKey := s.redis != nil && !cfg.Partner.IsOn() // See saltSecret.
	if !lacksKey {
		s.rows = rowsIn(s.stores[0], cfg)
	}
	return s, nil
}

// saltSecret returns the secret that is hashed into the keys in Redis, so that nobody else can compute them. It is the
// partner's secret key: saved addresses must be found even after the bot has got a new token. If the partner API is
// off, the secret is the bot's tokens. Then no addresses are saved in Redis, and all other keys soon expire.
func (c *Config) saltSecret() string {
	if c.Partner.IsOn() {
		return c.Partner.SecretKey.Reveal()
	}
	return c.Telegram.Token.Reveal() + " " + c.Discord.Token.Reveal()
}

// rowsIn returns the rowStore in s.
func rowsIn(s persistent, cfg *Config) rowStore {
	return rowStore{bucket: s.Bucket, former: s.Former(), formerIsShared: cfg.Store.RedisURL.IsSet()}
}

// close closes the stores.
func (s *state) close() {
	for _, each := range s.stores {
		_ = each.Close()
	}
}
