package app

import "herald/internal/config"

// Config is the settings of a bot.
type Config = config.Config

// Load reads the settings for anything but serving, as config.Load does.
func Load(environ []string, envFile string) (*Config, error) { return config.Load(environ, envFile) }

// LoadToServe reads the settings of a bot that serves.
func LoadToServe(environ []string, envFile string) (*Config, error) {
	return config.LoadToServe(environ, envFile)
}
