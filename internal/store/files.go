package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"herald/internal/config"
)

// maxFile is the maximum number of bytes of a file. The base64 of a value of maxValue bytes fits into it.
const maxFile = 2 * maxValue

// hashName returns a file name for a key. It is a hash, because the key may name a user.
func hashName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

// temporaryFolder begins the name of a folder until makeFolder renames it. A number follows.
const temporaryFolder = ".folder"

// temporaryName matches the temporary names of files and folders, with <hash> for what hashName returns:
//
//	.<hash>.json123, .<hash>.kept.json123         of replaceFile
//	.folder123                                    of makeFolder
//	<hash>.kept.json.ABCDEFGHIJKLMNOPQRSTUVWXYZ   of versions up to commit b7a8be84
var temporaryName = regexp.MustCompile(
	`^(\.[0-9a-f]{32}(\.kept)?\.json[0-9]+|\.folder[0-9]+|[0-9a-f]{32}\.kept\.json\.[A-Z2-7]{26})$`)

// isTemporary reports whether a killed process may have left a file or a folder of this name.
func isTemporary(name string) bool {
	return temporaryName.MatchString(name)
}

// readFile returns the content of a file, or nil if there is no such file. It fails if the file is empty, or larger
// than maxFile. The error does not contain the path.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, config.WithoutPath(err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, config.WithoutPath(err)
	case len(content) > maxFile:
		return nil, errTooLarge
	case len(content) == 0:
		return nil, errDamaged
	}
	return content, nil
}

// deleteFile deletes a file and blocks until that is on disk. It succeeds if there is no such file.
func deleteFile(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// makeFolder makes the folder dir, unless it exists, and gives it the owner of the folder like. It blocks until that is
// on disk. It first makes a folder with a temporary name, so that dir never has the wrong owner, even if this process
// is killed.
func makeFolder(dir, like string) error {
	if exists(dir) {
		return nil
	}
	parent := filepath.Dir(dir)
	temporary, err := os.MkdirTemp(parent, temporaryFolder)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary) }() // It does nothing after a success.
	err = matchOwnerOf(temporary, like)
	if err != nil {
		return err
	}
	err = os.Rename(temporary, dir)
	if err != nil && !exists(dir) { // If dir exists, somebody else has just made it.
		return err
	}
	return syncFolder(parent)
}

// exists reports whether there is a file, a folder or a link at path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// matchOwnerOf gives the folder dir to the owner of the folder like.
func matchOwnerOf(dir, like string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	return matchOwner(folder, like)
}
