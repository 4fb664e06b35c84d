// Package material makes the files of a session that are derived from others, such as the
// files of a plan, the archive of reviews and the request for fixes, and reads what the
// session is about. It works from the bytes that were accepted, whatever an artifact on disk
// says by now, and writes the same bytes when it is asked again. Files that somebody deleted
// it writes again, at last from the session's checkpoint.
//
// It writes below the session directory and the completion note of the project.
package material
