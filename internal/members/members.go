// Package members keeps the wallets that people asked to keep, looks at their stakes again
// and again, and has those who stake wear a badge: a role on Discord, a tag on Telegram.
//
//	row.go       a kept wallet, in 57 bytes
//	rows.go      all rows, in shards of a store
//	rules.go     when a badge goes: pure functions of rows and of what was read
//	cycle.go     each row once in Every, a 64th of all rows at a time
//	badges.go    the calls to the platforms, and how often they may be made
//	members.go   what commands ask
//
// A row exists because its person pressed a button. A badge goes after two complete "no", at
// least an hour apart by the chain's own clock; whatever could not be checked takes nothing.
// The platform is the truth of who wears a badge, and the rows are the truth of who may.
//
// The package imports no platform and no service: adapters implement chat.Badges, and package
// app passes them in.
package members
