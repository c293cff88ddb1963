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

// Webhook returns the settings of a bot to which the stand-in delivers at WebhookPath.
func Webhook(fake *telegramtest.Server) []string {
	return append(Polling(fake), "TELEGRAM_WEBHOOK_URL=https://bot.example"+WebhookPath, "TELEGRAM_WEBHOOK_SECRET="+WebhookSecret)
}

// Gateway returns the settings of a bot that opens the stand-in's gateway.
func Gateway(fake *discordtest.Server) []string {
	return []string{"DISCORD_BOT_TOKEN=" + fake.Token, "DISCORD_API_URL=" + fake.URL()}
}

// Interactions returns the settings of a bot to which the stand-in posts at
// InteractionsPath.
func Interactions(fake *discordtest.Server) []string {
	return append(Gateway(fake), "DISCORD_PUBLIC_KEY="+hex.EncodeToString(fake.PublicKey))
}

// redisPatience is the longest time limit for calls to Redis, for a busy machine.
const redisPatience = "?read_timeout=1s"

// OnRedis returns the settings of a bot that shares its state in redis.
func OnRedis(redis *miniredis.Miniredis) []string {
	return []string{"REDIS_URL=redis://" + redis.Addr() + redisPatience}
}

// Discord starts a stand-in that is closed when the test ends. It waits for a first response
// twice as long as Discord, for a busy machine, and no longer, because the bot takes a later
// one for lost.
func Discord(t testing.TB) *discordtest.Server {
	fake := discordtest.New()
	fake.FirstResponse *= 2
	t.Cleanup(fake.Close)
	return fake
}

// TelegramID returns a person's user ID on Telegram.
func TelegramID(p services.Person) int64 {
	id, err := strconv.ParseInt(p.UID("Telegram"), 10, 64)
	if err != nil {
		panic(err)
	}
	return id
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
