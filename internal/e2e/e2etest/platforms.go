package e2etest

import (
	"testing"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/demo/fake/discordtest"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/e2e/fault"
)

// GroupID is a group of Telegram, GuildID a server of Discord.
const (
	GroupID = -1009876543210
	GuildID = "42"
)

// Where platforms call the bot, and Telegram's secret.
const (
	WebhookPath      = "/hooks/telegram"
	InteractionsPath = "/discord/interactions"
	WebhookSecret    = "wh00k-secret_of-telegram"
)

// Polling returns the settings of a bot that polls the stand-in, without pacing.
func Polling(fake *telegramtest.Server) []string {
	return []string{"TELEGRAM_BOT_TOKEN=" + faketelegram.Token, "TELEGRAM_API_URL=" + fake.URL, "TELEGRAM_PACING=off"}
}

// redisPatience is the longest time limit for calls to Redis, for a busy machine.
const redisPatience = "?read_timeout=1s"

// OnRedis returns the settings of a bot that shares its state in redis.
func OnRedis(redis *miniredis.Miniredis) []string {
	return []string{"REDIS_URL=redis://" + redis.Addr() + redisPatience}
}

// Everything holds every service that can be configured, and the settings for them.
type Everything struct {
	World    *fault.Fakes
	Telegram *telegramtest.Server
	Discord  *discordtest.Server
	Redis    *miniredis.Miniredis
	Settings []string
	// Secrets are those in Settings.
	Secrets Secrets
}

// NewEverything starts every service. They are closed when the test ends.
func NewEverything(t *testing.T) *Everything {
	t.Helper()
	const (
		redisPassword = "correct-horse-battery"
		rpcKey        = "rpc-key-0123456789abcdef"
	)
	telegram, discord := Ways[0].Open(t), Ways[2].Open(t)
	e := &Everything{
		World:    fault.Start(t),
		Telegram: telegram.Telegram,
		Discord:  discord.Discord,
		Redis:    miniredis.RunT(t),
	}
	e.Redis.RequireAuth(redisPassword)
	e.Settings = append(Settings(e.World, "PRICE_MONTHLY_CREDITS=10000",
		"EVM_RPC_URL="+e.World.Chain.URL()+"/v1/"+rpcKey,
		"REDIS_URL=redis://:"+redisPassword+"@"+e.Redis.Addr()+redisPatience),
		append(telegram.Settings(), discord.Settings()...)...)
	e.Secrets = Secrets{
		"partner's key": e.World.SecretKey, "price key": e.World.PriceKey, "Telegram token": faketelegram.Token,
		"Discord token": e.Discord.Token, "Redis password": redisPassword, "node's key": rpcKey,
	}
	return e
}
