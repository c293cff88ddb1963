// Package app makes a running bot from settings. It alone knows every other package: services and platforms never
// import each other. New makes everything complete, in this order:
//
//	state.go      what outlives a command: memory, Redis, DATA_DIR
//	services.go   the clients of the services, and the quotes seen; add a service here
//	platforms.go  the adapters; add a platform here
//	members.go    saved addresses; the adapters give the badges that come with them
//	app.go        the commands, and the Router that answers them
//
// What a Bot does:
//
//	run.go        serves the platforms
//	rights.go     watches whether the bot may do what the settings require
//	ticker.go     writes the price for Discord's member list
//	check.go      runs `bot check`; details.go writes what the services answered
//	demo.go       runs a bot against fakes of the platforms and services
//	health.go     asks a running bot whether it is ready
//
// The settings:
//
//	settings.go   all settings, and the tables of those that belong to no other package
//	needs.go      which settings turn on a service, and which need one
//	languages.go  CHAT_LANGUAGE
//	ids.go        how settings name users and communities
//	botid.go      the bot's ID, from its tokens
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
	// members saves addresses, and gives and removes badges through the adapters.
	members *members.Members
	// Router answers requests from every platform.
	Router *router.Router
}

// New makes a Bot, which locks DATA_DIR until Close. It does not block, and connects to nothing but Redis. It fails
// with a config.Errors if another process has locked DATA_DIR, or if a setting turns out to be unusable.
func New(cfg *Config, log *slog.Logger) (*Bot, error) {
	return NewListening(cfg, log, net.Listen)
}

// NewListening is like New, but opens HTTP_ADDR with listen instead of net.Listen. Tests in simulated time need that.
func NewListening(
	cfg *Config, log *slog.Logger, listen func(network, address string) (net.Listener, error),
) (*Bot, error) {
	return construct(cfg, log, parts{listen: listen, open: openAndLock})
}

// NewForCheck makes a Bot for Check. It works beside a running bot: it does not lock DATA_DIR, and only reads the saved
// addresses there.
func NewForCheck(cfg *Config, log *slog.Logger) (*Bot, error) {
	return construct(cfg, log, parts{open: openToLook})
}

// parts are the parts of a Bot that differ between a running bot, a check, the demo and tests.
type parts struct {
	// listen opens HTTP_ADDR. It is nil if the bot does not serve.
	listen func(network, address string) (net.Listener, error)
	// open opens the state.
	open func(*Config, *ops.Metrics, *slog.Logger) (*state, error)
}

// construct makes a complete Bot.
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
	joins := new(platform.JoinLog)
	moves := new(platform.Moves)
	b.connections = newConnections(cfg, connectionParts{
		state:   state,
		status:  services.status,
		joins:   joins,
		moves:   moves,
		metrics: metrics,
		log:     log,
	})
	b.members = newMembers(cfg, memberParts{
		state:    state,
		services: services,
		badges:   badgesOf(b.connections),
		metrics:  metrics,
		log:      log,
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
		Bot:            cfg.redisID(),
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

// Close ends the calls to services, saves the quotes, closes the stores, and unlocks DATA_DIR.
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

// hash returns an ID for the parts. It has 64 hexadecimal digits, and does not reveal the parts.
func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, " ")))
	return hex.EncodeToString(sum[:])
}
