package e2etest

import (
	"slices"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/demo/fake/discordtest"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/e2e/fault"
)

const (
	// GroupID is a group of Telegram.
	GroupID = -1009876543210
	// GuildID is a server of Discord.
	GuildID = "42"
)

// Where platforms call the bot: Telegram at WebhookPath, with WebhookSecret, and Discord at InteractionsPath.
const (
	WebhookPath      = "/hooks/telegram"
	WebhookSecret    = "wh00k-secret_of-telegram"
	InteractionsPath = "/discord/interactions"
)

// Polling returns the settings of a bot that polls the fake, and that does not limit how often it sends messages
// to a chat.
func Polling(fake *telegramtest.Server) []string {
	return []string{
		"TELEGRAM_BOT_TOKEN=" + faketelegram.Token,
		"TELEGRAM_API_URL=" + fake.URL,
		"TELEGRAM_PACING=off",
	}
}

// redisPatience is the part of a Redis URL that sets the longest possible time limit for calls, for a busy
// machine.
const redisPatience = "?read_timeout=1s"

// OnRedis returns the settings of a bot that saves in redis.
func OnRedis(redis *miniredis.Miniredis) []string {
	return []string{"REDIS_URL=redis://" + redis.Addr() + redisPatience}
}

// Everything is fakes of every service and platform that can be configured, and the settings of a bot on them.
type Everything struct {
	World    *fault.Fakes
	Telegram *telegramtest.Server
	Discord  *discordtest.Server
	Redis    *miniredis.Miniredis
	Settings []string
	Secrets  Secrets // the secrets in Settings
}

// NewEverything starts all fakes. They are closed when the test ends.
func NewEverything(t *testing.T) *Everything {
	t.Helper()
	const (
		redisPassword = "correct-horse-battery"
		rpcKey        = "rpc-key-0123456789abcdef"
	)
	telegram, discord := TelegramPolling.Open(t), DiscordGateway.Open(t)
	e := &Everything{
		World:    fault.Start(t),
		Telegram: telegram.Telegram,
		Discord:  discord.Discord,
		Redis:    miniredis.RunT(t),
	}
	e.Redis.RequireAuth(redisPassword)
	services := Settings(e.World,
		"PRICE_MONTHLY_CREDITS=10000",
		"EVM_RPC_URL="+e.World.Chain.URL()+"/v1/"+rpcKey,
		"REDIS_URL=redis://:"+redisPassword+"@"+e.Redis.Addr()+redisPatience)
	e.Settings = slices.Concat(services, telegram.Settings(), discord.Settings())
	e.Secrets = Secrets{
		"partner's key":  e.World.SecretKey,
		"price key":      e.World.PriceKey,
		"Telegram token": faketelegram.Token,
		"Discord token":  e.Discord.Token,
		"Redis password": redisPassword,
		"node's key":     rpcKey,
	}
	return e
}
