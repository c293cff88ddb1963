package e2etest

import (
	"encoding/hex"
	"strconv"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/demo/fake/discordtest"
	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/e2e/fault"
)

// GroupID is a group of Telegram, GuildID a server of Discord.
const (
	GroupID = -1009876543210
	GuildID = "42"
)

// Where the bot is called in.
const (
	WebhookPath      = "/hooks/telegram"
	InteractionsPath = "/discord/interactions"
	WebhookSecret    = "wh00k-secret_of-telegram"
)

// Polling are the settings of a bot that polls the stand-in and paces nothing.
func Polling(fake *telegramtest.Server) []string {
	return []string{"TELEGRAM_BOT_TOKEN=" + faketelegram.Token, "TELEGRAM_API_URL=" + fake.URL, "TELEGRAM_PACING=off"}
}

// Webhook are the settings of a bot to which the stand-in delivers at WebhookPath.
func Webhook(fake *telegramtest.Server) []string {
	return append(Polling(fake), "TELEGRAM_WEBHOOK_URL=https://bot.example"+WebhookPath, "TELEGRAM_WEBHOOK_SECRET="+WebhookSecret)
}

// Gateway are the settings of a bot that opens the stand-in's gateway.
func Gateway(fake *discordtest.Server) []string {
	return []string{"DISCORD_BOT_TOKEN=" + fake.Token, "DISCORD_API_URL=" + fake.URL()}
}

// Interactions are the settings of a bot to which the stand-in posts at
// InteractionsPath.
func Interactions(fake *discordtest.Server) []string {
	return append(Gateway(fake), "DISCORD_PUBLIC_KEY="+hex.EncodeToString(fake.PublicKey))
}

// redisPatience has the bot wait for Redis as long as it can, for a busy machine.
const redisPatience = "?read_timeout=1s"

// OnRedis are the settings of a bot that shares its state there.
func OnRedis(redis *miniredis.Miniredis) []string {
	return []string{"REDIS_URL=redis://" + redis.Addr() + redisPatience}
}

// Discord starts a fake until the test ends. It waits twice as long for a first response
// as the real one, since a busy machine can be late with one; and not longer, since the
// bot takes a later one for lost.
func Discord(t testing.TB) *discordtest.Server {
	fake := discordtest.New()
	fake.FirstResponse *= 2
	t.Cleanup(fake.Close)
	return fake
}

// TelegramID is a person's user ID in Telegram.
func TelegramID(p services.Person) int64 {
	id, err := strconv.ParseInt(p.UID("Telegram"), 10, 64)
	if err != nil {
		panic(err)
	}
	return id
}

// Everything is every service that can be configured, and the settings for
// them.
type Everything struct {
	World    *fault.Fakes
	Telegram *telegramtest.Server
	Discord  *discordtest.Server
	Redis    *miniredis.Miniredis
	Settings []string
	// Secrets are those in Settings.
	Secrets Secrets
}

// NewEverything starts it until the test ends.
func NewEverything(t *testing.T) *Everything {
	t.Helper()
	const (
		redisPassword = "correct-horse-battery"
		rpcKey        = "rpc-key-0123456789abcdef"
	)
	e := &Everything{World: Sandbox(t), Telegram: telegramtest.New(t), Discord: Discord(t), Redis: miniredis.RunT(t)}
	e.Redis.RequireAuth(redisPassword)
	e.Settings = append(Settings(e.World, "PRICE_MONTHLY_CREDITS=10000",
		"EVM_RPC_URL="+e.World.Chain.URL()+"/v1/"+rpcKey,
		"REDIS_URL=redis://:"+redisPassword+"@"+e.Redis.Addr()+redisPatience),
		append(Polling(e.Telegram), Gateway(e.Discord)...)...)
	e.Secrets = Secrets{
		"partner's key": e.World.SecretKey, "price key": e.World.PriceKey, "Telegram token": faketelegram.Token,
		"Discord token": e.Discord.Token, "Redis password": redisPassword, "node's key": rpcKey,
	}
	return e
}
