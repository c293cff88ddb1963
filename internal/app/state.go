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

// state is what outlives a command: of this process, or of all replicas.
type state struct {
	claims  claim.Claims
	limiter ratelimit.Limiter
	redis   *store.Redis  // nil without REDIS_URL
	folder  *store.Folder // nil without DATA_DIR
	// stores are Redis and the folder, as far as they are set. The first keeps answers.
	stores []keeper
	// rows keep saved addresses; zero: none can be saved.
	rows rowStore
}

// keeper keeps values for a later process.
type keeper interface {
	query.Store
	io.Closer
	Bucket(name string) store.Bucket
	Former() store.Bucket
}

// rowStore is what keeps saved addresses.
type rowStore struct {
	bucket func(name string) store.Bucket
	// former has what version b7a8be84 saved. formerIsShared says that other bots may have rows there.
	former         store.Bucket
	formerIsShared bool
}

// openState opens the state that the settings name. It locks nothing.
func openState(cfg *Config, metrics *ops.Metrics, log *slog.Logger) (*state, error) {
	memory := store.NewMemory()
	s := &state{claims: memory, limiter: memory}
	if cfg.Store.RedisURL.IsSet() {
		salt := sha256.Sum256([]byte("herald state " + cfg.saltSecret()))
		redis, err := store.NewRedis(cfg.Store, salt[:], cfg.botID(), log)
		if err != nil {
			return nil, err
		}
		metrics.ExportRedis(redis.Up, redis.Fallbacks)
		s = &state{claims: redis, limiter: redis, redis: redis, stores: []keeper{redis}}
	}
	if dir := cfg.Store.DataDir; dir != "" {
		s.folder = store.NewFolder(dir, log)
		s.stores = append(s.stores, s.folder)
	}
	if len(s.stores) > 0 && (s.redis == nil || cfg.Partner.IsOn()) {
		s.rows = rowsIn(s.stores[0], cfg)
	}
	return s, nil
}

// saltSecret returns the secret that keeps others from computing keys in Redis. Addresses are saved under keys with the
// partner's secret, because a bot may get another token. Without the partner API there are no addresses, and all other
// keys are of passing use: they depend on the tokens.
func (c *Config) saltSecret() string {
	if c.Partner.IsOn() {
		return c.Partner.SecretKey.Reveal()
	}
	return c.Telegram.Token.Reveal() + " " + c.Discord.Token.Reveal()
}

// openAndLock is openState for a bot that runs: it has DATA_DIR to itself. It fails with a config.Errors if another
// process has DATA_DIR.
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

// openToLook is openState for Check. It works beside a running bot, and of DATA_DIR it only reads saved addresses.
func openToLook(cfg *Config, metrics *ops.Metrics, log *slog.Logger) (*state, error) {
	withoutFolder := *cfg
	withoutFolder.Store.DataDir = ""
	s, err := openState(&withoutFolder, metrics, log)
	if err != nil {
		return nil, err
	}
	dir := cfg.Store.DataDir
	_, missing := os.Stat(dir) // The bot makes it at its first start.
	if dir != "" && missing == nil && s.redis == nil {
		s.rows = rowsIn(store.NewFolder(dir, log), cfg)
	}
	return s, nil
}

// rowsIn returns the saved addresses in a store.
func rowsIn(s keeper, cfg *Config) rowStore {
	return rowStore{bucket: s.Bucket, former: s.Former(), formerIsShared: cfg.Store.RedisURL.IsSet()}
}

// close closes what was opened.
func (s *state) close() {
	for _, opened := range s.stores {
		_ = opened.Close()
	}
}
