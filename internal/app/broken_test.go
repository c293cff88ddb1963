package app_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/sandbox"
	"herald/internal/sandbox/fault"
	"herald/internal/telegram/telegramtest"
)

// put puts one of a service's listed faults on it.
func put(e *e2etest.Everything, target fault.Target, name string) {
	for _, f := range fault.Of(target) {
		if f.Name == name {
			e.World.At(target).SetFault(f)
			return
		}
	}
	panic("there is no fault called " + name)
}

func refuse(target fault.Target) func(*e2etest.Everything) {
	return func(e *e2etest.Everything) { e.World.At(target).SetFault(fault.Refuse()) }
}

func answers(target fault.Target, status int, contentType, body string) func(*e2etest.Everything) {
	return func(e *e2etest.Everything) { e.World.At(target).SetFault(fault.Answer(status, contentType, body)) }
}

// quoted is a price that the provider last updated so long after now.
func quoted(after time.Duration) func(*e2etest.Everything) {
	return answers(fault.Price, 200, "application/json", fmt.Sprintf(
		`{"status":{"error_code":0},"data":{%q:{"id":%[1]s,"symbol":%q,"quote":{"USD":{"price":1.5,"last_updated":%q}}}}}`,
		sandbox.TokenID, sandbox.Symbol, time.Now().Add(after).UTC().Format(time.RFC3339)))
}

const noSuchUser = `{"code":10004,"data":null,"message":"no such user"}`

func brokenServices() []broken {
	const partner, price, supply = "partner API", "price provider", "supply host"
	return []broken{
		{name: "partner closed", row: partner, cause: refuse(fault.Partner),
			wants: []string{"cannot be reached", "connection refused", "look at PARTNER_BASE_URL"}},
		{name: "partner refuses the key", row: partner, settings: []string{"PARTNER_SECRET_KEY=another-secret-key"},
			wants: []string{"refuses the credentials", "PARTNER_APP_ID", "PARTNER_SECRET_KEY"}},
		{name: "partner answers a code", row: partner, cause: answers(fault.Partner, 200, "application/json", noSuchUser),
			wants: []string{"code 10004", `PARTNER_NOT_FOUND_CODES if it means "no such user"`}},
		{name: "partner answers a code with 400", row: partner, cause: answers(fault.Partner, 400, "application/json", noSuchUser),
			wants: []string{"code 10004", "PARTNER_NOT_FOUND_CODES"}},
		{name: "partner refuses, and its clock is another", row: partner, settings: []string{"PARTNER_SECRET_KEY=another-secret-key"},
			cause: func(e *e2etest.Everything) { put(e, fault.Partner, "clock an hour fast") },
			wants: []string{"refuses the credentials", "clock are 60 min apart", "look at this machine's clock first, then at PARTNER_APP_ID and PARTNER_SECRET_KEY"}},
		{name: "partner path wrong", row: partner, cause: answers(fault.Partner, 404, "text/html", "<html>not here</html>"),
			wants: []string{"status 404", "look at PARTNER_BASE_URL"}},
		{name: "partner is a web site", row: partner, cause: answers(fault.Partner, 200, "text/html", "<html>welcome</html>"),
			wants: []string{"something other than what was asked", "look at PARTNER_BASE_URL"}},
		{name: "price closed", row: price, cause: refuse(fault.Price),
			wants: []string{"cannot be reached", "look at PRICE_API_URL"}},
		{name: "price key wrong", row: price, settings: []string{"PRICE_API_KEY=another-price-key"},
			wants: []string{"refuses the credentials", "look at PRICE_API_KEY"}},
		{name: "price of another symbol", row: price, settings: []string{"TOKEN_SYMBOL=OTHR"},
			wants: []string{"the token has another symbol there than TOKEN_SYMBOL", "look at TOKEN_SYMBOL and PRICE_TOKEN_ID"}},
		{name: "price of in two days", row: price, cause: quoted(48 * time.Hour),
			wants: []string{"last updated in the future", "look at this machine's clock"}},
		{name: "price plan used up", row: price, cause: func(e *e2etest.Everything) { put(e, fault.Price, "200 with error code 1009") },
			wants: []string{"limit is used up", "1009", "PRICE_MONTHLY_CREDITS"}},
		{name: "price silent", row: price,
			cause: func(e *e2etest.Everything) { e.World.Price.SetFault(fault.Hang()) },
			wants: []string{"does not answer in time", "the time ran out", "PRICE_API_URL and UPSTREAM_TIMEOUT"}},
		{name: "supply closed", row: supply, cause: refuse(fault.Supply),
			wants: []string{"cannot be reached", "look at SUPPLY_URL"}},
		{name: "supply closed midway", row: supply, cause: func(e *e2etest.Everything) { put(e, fault.Supply, "closed midway") },
			wants: []string{"the answer broke off", "look at SUPPLY_URL"}},
		{name: "supply in words", row: supply, cause: answers(fault.Supply, 200, "text/plain", "Error calculating total supply"),
			wants: []string{"neither a plain number nor JSON", "look at SUPPLY_URL"}},
		{name: "supply with separators", row: supply, cause: answers(fault.Supply, 200, "text/plain", "1,234,567"),
			wants: []string{"neither a plain number nor JSON", "look at SUPPLY_URL"}},
		{name: "supply zero", row: supply, cause: answers(fault.Supply, 200, "text/plain", "0"),
			wants: []string{"not above zero", "look at SUPPLY_URL"}},
		{name: "supply below what circulates", row: supply, cause: func(e *e2etest.Everything) { put(e, fault.Supply, "circulating above total") },
			wants: []string{"more tokens circulate than there are", "in total", "circulate", "look at SUPPLY_URL"}},
	}
}

func brokenChains() []broken {
	const pools = "staking pools"
	const nobody = "0x00000000000000000000000000000000DeaDBeef"
	return []broken{
		{name: "node closed", row: pools, cause: refuse(fault.Chain),
			wants: []string{"cannot be reached", "look at EVM_RPC_URL"}},
		{name: "node key wrong", row: pools, cause: answers(fault.Chain, 401, "application/json", "{}"),
			wants: []string{"refuses the credentials", "the key in EVM_RPC_URL"}},
		{name: "node of another chain", row: pools, settings: []string{"EVM_CHAIN_ID=1"},
			wants: []string{"the node is of chain 424242, but chain 1 is configured", "ms chain 424242", "EVM_CHAIN_ID and EVM_RPC_URL"}},
		{name: "node is a web site", row: pools, cause: answers(fault.Chain, 200, "text/html", "<html>welcome</html>"),
			wants: []string{"not JSON-RPC", "EVM_RPC_URL"}},
		{name: "a pool without code", row: pools, settings: []string{"STAKING_POOLS=" + nobody},
			wants: []string{"no contract at " + nobody, "pools with code: 0, without: 1", "look at STAKING_POOLS"}},
		{name: "pools without the method", row: pools, settings: []string{"STAKING_METHOD=balanceOf(address)"},
			wants: []string{"STAKING_METHOD"}},
		{name: "pools without the method of withdrawals", row: pools, settings: []string{"STAKING_PENDING_METHOD=leaving(address)"},
			wants: []string{"STAKING_PENDING_METHOD is not answered by 0x"}},
		{name: "one pool that fails", row: pools,
			cause: func(e *e2etest.Everything) { put(e, fault.Chain, "an empty pool reverts") },
			wants: []string{"STAKING_METHOD is not answered by 0x", "pools with code: 21, without: none"}},
		{name: "node frozen", row: pools,
			cause: func(e *e2etest.Everything) { put(e, fault.Chain, "frozen an hour ago") },
			wants: []string{"is behind or frozen", "newest block 998,", "MAX_BLOCK_AGE"}},
		{name: "multicall without code", row: pools, settings: []string{"MULTICALL_ADDRESS=" + nobody},
			wants: []string{"no contract at " + nobody, "look at MULTICALL_ADDRESS", "off"}},
		{name: "multicall is a pool", row: pools, settings: []string{"MULTICALL_ADDRESS=" + sandbox.New().World.Pools[0].Address.Hex()},
			wants: []string{"is no Multicall3", "look at MULTICALL_ADDRESS", "off"}},
		{name: "multicall answers anything", row: pools,
			cause: func(e *e2etest.Everything) { put(e, fault.Chain, "multicall answers no list") },
			wants: []string{"is no Multicall3", "look at MULTICALL_ADDRESS", "off"}},
	}
}

// refusing has Redis refuse these commands.
func refusing(message string, commands ...string) func(*e2etest.Everything) {
	return func(e *e2etest.Everything) {
		e.Redis.Server().SetPreHook(func(c *server.Peer, command string, _ ...string) bool {
			if !slices.Contains(commands, command) {
				return false
			}
			c.WriteError(message)
			return true
		})
	}
}

func brokenPlatforms() []broken {
	return []broken{
		{name: "telegram token wrong", row: "Telegram", settings: []string{"TELEGRAM_BOT_TOKEN=1:another-bot-token"},
			wants: []string{"the token was refused", "look at TELEGRAM_BOT_TOKEN"}},
		{name: "telegram token of a wrong form", row: "Telegram", cause: func(e *e2etest.Everything) { e.Telegram.Fail("getMe", telegramtest.Status(404)) },
			wants: []string{"the token is not known there", "look at TELEGRAM_BOT_TOKEN"}},
		{name: "telegram down", row: "Telegram", cause: func(e *e2etest.Everything) { e.Telegram.Fail("getMe", telegramtest.Page(502)) },
			wants: []string{"502", "TELEGRAM_API_URL"}},
		{name: "telegram elsewhere", row: "Telegram", settings: []string{"TELEGRAM_API_URL=http://127.0.0.1:1"},
			wants: []string{"connection refused", "TELEGRAM_API_URL"}},
		{name: "discord token wrong", row: "Discord", settings: []string{"DISCORD_BOT_TOKEN=another.bot.token"},
			wants: []string{"refuses it", "DISCORD_BOT_TOKEN"}},
		{name: "discord of another application", row: "Discord", settings: []string{"DISCORD_APPLICATION_ID=1100000000000000009"},
			wants: []string{"belongs to this application", "look at DISCORD_APPLICATION_ID and DISCORD_BOT_TOKEN"}},
		{name: "discord sends interactions by HTTP", row: "Discord",
			cause: func(e *e2etest.Everything) { e.Discord.EnterEndpoint("https://bot.example/discord/interactions") },
			wants: []string{"at bot.example, so nothing comes over the gateway", "look at DISCORD_PUBLIC_KEY"}},
		{name: "discord down", row: "Discord",
			cause: func(e *e2etest.Everything) { e.Discord.Break(discordtest.Application, discordtest.Fault{Status: 503}) },
			wants: []string{"503", "DISCORD_API_URL"}},
		{name: "redis closed", row: "Redis", cause: func(e *e2etest.Everything) { e.Redis.Close() },
			wants: []string{"no connection", "look at REDIS_URL"}},
		{name: "redis password wrong", row: "Redis", cause: func(e *e2etest.Everything) { e.Redis.RequireAuth("another password") },
			wants: []string{"WRONGPASS", "look at REDIS_URL"}},
		{name: "redis is a replica that only reads", row: "Redis",
			cause: refusing("READONLY You can't write against a read only replica.", "SET", "DEL"),
			wants: []string{"write to redis", "READONLY", "look at REDIS_URL"}},
		{name: "redis runs no scripts", row: "Redis",
			cause: refusing("NOPERM this user has no permissions to run the command", "EVAL", "EVALSHA"),
			wants: []string{"run a script", "NOPERM", "look at REDIS_URL"}},
	}
}
