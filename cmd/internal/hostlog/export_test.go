package hostlog

// SeekBlock is for the tests.
const SeekBlock = seekBlock
