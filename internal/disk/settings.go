package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"herald/internal/config"
)

// Settings are what an operator chooses.
type Settings struct {
	// Dir is the folder of the files; empty: memory alone.
	Dir string
}

const exampleDir = "/var/lib/herald"

// Table declares the settings that fill s.
func (s *Settings) Table() []config.Setting {
	return []config.Setting{
		{Heading: "Files", Name: "DATA_DIR", Example: exampleDir,
			Comment: "Folder for what must outlive the process: the quotes seen, for charts, and, without REDIS_URL, " +
				"the last price and supply and the price provider's credits. It is made if only its last part is " +
				"missing. Unset: in memory.",
			Set: config.Field(&s.Dir, folder)},
	}
}

// folder accepts a folder that exists, or one in a folder that does. It makes
// none.
func folder(dir string) (string, error) {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		info, err = os.Stat(filepath.Dir(filepath.Clean(dir)))
	}
	if err != nil || !info.IsDir() {
		return "", errors.New("must be a folder that exists, or one in a folder that does")
	}
	return dir, nil
}
