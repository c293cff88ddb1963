package main

import (
	"herald/internal/core"
	"herald/internal/discord/discordtest"
	"herald/internal/sandbox"
	"herald/internal/telegram/telegramtest"
)

// fault puts one of the sandbox's listed faults on a service.
func (s *surroundings) fault(service core.Service, name string) {
	for _, f := range sandbox.Faults(service) {
		if f.Name == name {
			s.world.Service(service).SetFault(f)
			return
		}
	}
	panic("there is no fault called " + name)
}

func refuse(service core.Service) func(*surroundings) {
	return func(s *surroundings) { s.world.Service(service).SetFault(sandbox.Refuse()) }
}

func answers(service core.Service, status int, contentType, body string) func(*surroundings) {
	return func(s *surroundings) { s.world.Service(service).SetFault(sandbox.Answer(status, contentType, body)) }
}

const noSuchUser = `{"code":10004,"data":null,"message":"no such user"}`

func brokenServices() []broken {
	const partner, price, supply = "partner API", "price provider", "supply host"
	return []broken{
		{name: "partner closed", row: partner, cause: refuse(core.Partner),
			wants: []string{"cannot be reached", "connection refused", "look at PARTNER_BASE_URL"}},
		{name: "partner refuses the key", row: partner, settings: []string{"PARTNER_SECRET_KEY=another-secret-key"},
			wants: []string{"refuses the credentials", "PARTNER_APP_ID", "PARTNER_SECRET_KEY"}},
		{name: "partner answers a code", row: partner, cause: answers(core.Partner, 200, "application/json", noSuchUser),
			wants: []string{"code 10004", `PARTNER_NOT_FOUND_CODES if it means "no such user"`}},
		{name: "partner answers a code with 400", row: partner, cause: answers(core.Partner, 400, "application/json", noSuchUser),
			wants: []string{"code 10004", "PARTNER_NOT_FOUND_CODES"}},
		{name: "partner path wrong", row: partner, cause: answers(core.Partner, 404, "text/html", "<html>not here</html>"),
			wants: []string{"status 404", "look at PARTNER_BASE_URL"}},
		{name: "partner is a web site", row: partner, cause: answers(core.Partner, 200, "text/html", "<html>welcome</html>"),
			wants: []string{"something else than what was asked", "look at PARTNER_BASE_URL"}},
		{name: "price closed", row: price, cause: refuse(core.Price),
			wants: []string{"cannot be reached", "look at PRICE_API_URL"}},
		{name: "price key wrong", row: price, settings: []string{"PRICE_API_KEY=another-price-key"},
			wants: []string{"refuses the credentials", "look at PRICE_API_KEY"}},
		{name: "price of another symbol", row: price, settings: []string{"TOKEN_SYMBOL=OTHR"},
			wants: []string{"entries of other tokens only", "PRICE_TOKEN_ID", "TOKEN_SYMBOL"}},
		{name: "price plan used up", row: price, cause: func(s *surroundings) { s.fault(core.Price, "200 with error code 1009") },
			wants: []string{"wants to be asked less", "1009", "PRICE_TTL"}},
		{name: "price silent", row: price, settings: []string{"UPSTREAM_TIMEOUT=1s"},
			cause: func(s *surroundings) { s.world.Price.SetFault(sandbox.Hang()) },
			wants: []string{"does not answer in time", "PRICE_API_URL and UPSTREAM_TIMEOUT"}},
		{name: "supply closed", row: supply, cause: refuse(core.TokenSupply),
			wants: []string{"cannot be reached", "look at SUPPLY_URL"}},
		{name: "supply zero", row: supply, cause: answers(core.TokenSupply, 200, "text/plain", "0"),
			wants: []string{"not above zero", "look at SUPPLY_URL"}},
	}
}

func brokenChains() []broken {
	const pools = "staking pools"
	const nobody = "0x00000000000000000000000000000000DeaDBeef"
	return []broken{
		{name: "node closed", row: pools, cause: refuse(core.Chain),
			wants: []string{"cannot be reached", "look at EVM_RPC_URL"}},
		{name: "node key wrong", row: pools, cause: answers(core.Chain, 401, "application/json", "{}"),
			wants: []string{"refuses the credentials", "the key in EVM_RPC_URL"}},
		{name: "node of another chain", row: pools, settings: []string{"EVM_CHAIN_ID=1"},
			wants: []string{"the node is of chain 424242, but chain 1 is configured", "EVM_CHAIN_ID and EVM_RPC_URL"}},
		{name: "node is a web site", row: pools, cause: answers(core.Chain, 200, "text/html", "<html>welcome</html>"),
			wants: []string{"not JSON-RPC", "EVM_RPC_URL"}},
		{name: "a pool without code", row: pools, settings: []string{"STAKING_POOLS=" + nobody},
			wants: []string{"no contract at " + nobody, "look at STAKING_POOLS"}},
		{name: "pools without the method", row: pools, settings: []string{"STAKING_METHOD=balanceOf(address)"},
			wants: []string{"STAKING_METHOD"}},
		{name: "pools without the method of withdrawals", row: pools, settings: []string{"STAKING_PENDING_METHOD=leaving(address)"},
			wants: []string{"STAKING_PENDING_METHOD is not answered by 0x"}},
		{name: "one pool that fails", row: pools,
			cause: func(s *surroundings) { s.fault(core.Chain, "an empty pool reverts") },
			wants: []string{"STAKING_METHOD is not answered by 0x"}},
	}
}

func brokenPlatforms() []broken {
	return []broken{
		{name: "telegram token wrong", row: "Telegram", settings: []string{"TELEGRAM_BOT_TOKEN=1:another-bot-token"},
			wants: []string{"the token was refused", "look at TELEGRAM_BOT_TOKEN"}},
		{name: "telegram down", row: "Telegram", cause: func(s *surroundings) { s.telegram.Fail("getMe", telegramtest.Page(502)) },
			wants: []string{"502", "TELEGRAM_API_URL"}},
		{name: "telegram elsewhere", row: "Telegram", settings: []string{"TELEGRAM_API_URL=http://127.0.0.1:1"},
			wants: []string{"connection refused", "TELEGRAM_API_URL"}},
		{name: "discord token wrong", row: "Discord", settings: []string{"DISCORD_BOT_TOKEN=another.bot.token"},
			wants: []string{"refuses it", "DISCORD_BOT_TOKEN"}},
		{name: "discord of another application", row: "Discord", settings: []string{"DISCORD_APPLICATION_ID=1100000000000000009"},
			wants: []string{"DISCORD_APPLICATION_ID"}},
		{name: "discord down", row: "Discord",
			cause: func(s *surroundings) { s.discord.Break(discordtest.Application, discordtest.Fault{Status: 503}) },
			wants: []string{"503", "DISCORD_API_URL"}},
		{name: "redis closed", row: "Redis", cause: func(s *surroundings) { s.redis.Close() },
			wants: []string{"no connection", "look at REDIS_URL"}},
		{name: "redis password wrong", row: "Redis", cause: func(s *surroundings) { s.redis.RequireAuth("another password") },
			wants: []string{"WRONGPASS", "look at REDIS_URL"}},
	}
}
