// Package app makes a running bot from settings. It alone knows every other package: services and platforms never
// import each other. New makes everything complete, in this order:
//
//	state.go      what outlives a command: memory, Redis, DATA_DIR
//	services.go   the clients of the services, and the quotes seen; add a service here
//	platforms.go  the adapters; add a platform here
//	members.go    saved addresses, whose badges the adapters give
//	app.go        the commands, and the Router that answers them
//
// Then a Bot runs (run.go), or is checked (check.go).
package app

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"herald/commands"
	"herald/internal/config"
	"herald/internal/members"
	"herald/internal/ops"
	"herald/internal/platform"
	"herald/internal/router"
	"herald/internal/secret"
)

// Bot is a whole bot. It must be closed.
type Bot struct {
	cfg         *Config
	log         *slog.Logger
	metrics     *ops.Metrics
	listen      func(network, address string) (net.Listener, error)
	state       *state
	services    *upstreams
	connections []connection
	// members saves addresses, and has the adapters give badges.
	members *members.Members
	// Router answers requests from every platform.
	Router *router.Router
}

// parts are what a Bot is made with.
type parts struct {
	listen func(network, address string) (net.Listener, error) // opens HTTP_ADDR
	open   func(*Config, *ops.Metrics, *slog.Logger) (*state, error)
}

// maxCached bounds the cached answers of all services.
const maxCached = 100_000

// New makes a Bot, which has DATA_DIR to itself until Close. It does not block, and contacts nothing but Redis. It
// fails with a config.Errors if another process has DATA_DIR, and if a setting cannot be used after all.
func New(cfg *Config, log *slog.Logger) (*Bot, error) {
	return NewListening(cfg, log, net.Listen)
}

// NewListening is New with another listen than net.Listen to open HTTP_ADDR, for tests in simulated time.
func NewListening(
	cfg *Config, log *slog.Logger, listen func(network, address string) (net.Listener, error),
) (*Bot, error) {
	return construct(cfg, log, parts{listen: listen, open: openAndLock})
}

// NewForCheck makes a Bot for Check. It works beside a running bot, and of DATA_DIR it only reads saved addresses.
func NewForCheck(cfg *Config, log *slog.Logger) (*Bot, error) {
	return construct(cfg, log, parts{open: openToLook})
}

// construct makes a Bot complete.
func construct(cfg *Config, log *slog.Logger, with parts) (_ *Bot, err error) {
	metrics := ops.NewMetrics()
	state, err := with.open(cfg, metrics, log)
	if err != nil {
		return nil, err
	}
	services, err := connect(cfg, state, metrics, log)
	if err != nil {
		state.close()
		return nil, err
	}
	b := &Bot{cfg: cfg, log: log, metrics: metrics, listen: with.listen, state: state, services: services}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	joins, moves := new(platform.JoinLog), new(platform.Moves)
	b.connections = newConnections(cfg, connectionParts{
		state: state, status: services.status, joins: joins, moves: moves, metrics: metrics, log: log,
	})
	b.members = newMembers(cfg, memberParts{
		state: state, services: services, badges: badgesOf(b.connections), metrics: metrics, log: log,
	})
	sources := services.sources
	sources.Members = b.members
	sources.Joins = joins
	sources.Moves = moves
	sources.Started = time.Now()
	b.Router, err = router.New(router.Config{
		Commands:       commands.All(sources, cfg.Answers),
		Operators:      cfg.Operators,
		ModeratorChats: cfg.ModeratorChats,
		Roles:          rolesOf(b.connections),
		Limiter:        state.limiter,
		UserPerMinute:  cfg.Limits.UserPerMinute,
		ChatPerMinute:  cfg.Limits.ChatPerMinute,
		Bot:            cfg.botID(),
		Timeout:        cfg.Limits.CommandTimeout,
		Language:       cfg.Language,
		ChatLanguages:  cfg.ChatLanguages,
		Nearest:        config.Nearest,
		Explain:        commands.Explain,
		Observe:        metrics.Command,
		Log:            log,
	})
	return b, err
}

// ReportBuild logs the version, and exports it to /metrics. It panics if it is called twice.
func (b *Bot) ReportBuild(version, commit string) {
	b.log.Info("herald starts", "version", version, "commit", commit)
	b.metrics.ExportBuild(version, commit)
}

// Close stops what New started.
func (b *Bot) Close() {
	b.services.close()
	b.state.close()
}

// NewLogger returns a logger to w that redacts every secret of cfg.
func NewLogger(cfg *Config, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.LogLevel, ReplaceAttr: secret.NewRedactor(cfg.Secrets()).ReplaceAttr}
	var h slog.Handler = slog.NewTextHandler(w, options)
	if cfg.LogJSON {
		h = slog.NewJSONHandler(w, options)
	}
	return slog.New(h)
}

// hash returns an ID of the parts, which shows none of them.
func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, " ")))
	return hex.EncodeToString(sum[:])
}
