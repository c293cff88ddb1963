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

// state is what the bot remembers beyond one command. Replicas share it in Redis. Without Redis, each process has its
// own, in memory and in the folder DATA_DIR.
type state struct {
	claims  claim.Claims
	limiter ratelimit.Limiter
	redis   *store.Redis  // nil if REDIS_URL is not set
	folder  *store.Folder // nil if DATA_DIR is not set
	// stores are redis and folder, without nil ones. The first saves the answers of services.
	stores []persistent
	// rows saves addresses. It is zero if none can be saved.
	rows rowStore
}

// persistent is a store that keeps values after the process has ended.
type persistent interface {
	query.Store
	io.Closer
	Bucket(name string) store.Bucket
	Former() store.Bucket
}

// rowStore is where saved addresses are.
type rowStore struct {
	bucket func(name string) store.Bucket
	// former has the rows that an older version saved (see members.Config).
	former store.Bucket
	// formerIsShared is true if other bots may have rows in former.
	formerIsShared bool
}

// isOff reports whether no addresses can be saved.
func (s rowStore) isOff() bool { return s.bucket == nil }

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
	redisNeedsPartner := s.redis != nil && !cfg.Partner.IsOn() // See saltSecret.
	if len(s.stores) > 0 && !redisNeedsPartner {
		s.rows = rowsIn(s.stores[0], cfg)
	}
	return s, nil
}

// saltSecret returns the secret that is hashed into the keys in Redis, so that nobody else can compute them. It is the
// partner's secret key, because saved addresses must be found again if the bot gets another token. If the partner API
// is off, it is the tokens: no addresses are saved then, and all other keys soon expire.
func (c *Config) saltSecret() string {
	if c.Partner.IsOn() {
		return c.Partner.SecretKey.Reveal()
	}
	return c.Telegram.Token.Reveal() + " " + c.Discord.Token.Reveal()
}

// openAndLock is openState for a bot that runs. It locks DATA_DIR, and fails with a config.Errors if another process
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

// openToLook is openState for Check. It works beside a running bot: it does not lock DATA_DIR, and only reads the saved
// addresses there.
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
