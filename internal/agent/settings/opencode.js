// Reports the events of opencode as the hooks of other programs do. Written for one launch.
import { spawn } from "node:child_process"

const words = HOOK_WORDS
const turns = HOOK_TURNS

// tell runs the hook and returns its answer. opencode continues after any error.
function tell(event, fields) {
  return new Promise((resolve) => {
    let out = ""
    const child = spawn(words[0], [...words.slice(1), event], { stdio: ["pipe", "pipe", "ignore"] })
    child.on("error", () => resolve({}))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (data) => (out += data))
    child.on("close", () => {
      try {
        resolve(JSON.parse(out))
      } catch {
        resolve({})
      }
    })
    child.stdin.end(JSON.stringify(fields))
  })
}

export const Agentmux = async ({ client }) => {
  let main = "" // the session of the launch, not those of its helpers
  let failed = false
  const counted = new Set() // answers of which was told what they used

  async function idle(id) {
    if (failed) {
      failed = false // the end of a turn that was reported as failed
      return
    }
    const answer = await tell("Stop", { session_id: id })
    if (answer.decision !== "block") return
    await client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text: answer.reason }] } })
  }

  // used tells what an answer of the model used, also one of a helper. A headless run says it in its stream.
  async function used(info) {
    if (!turns || info?.role !== "assistant" || !info.time?.completed || !info.tokens || counted.has(info.id)) return
    counted.add(info.id)
    const { input, output, reasoning, cache } = info.tokens
    const usage = { input_tokens: input, output_tokens: output + reasoning, reasoning_tokens: reasoning, cache_read_tokens: cache?.read, cache_write_tokens: cache?.write, turn_usd: info.cost, turns: 1 }
    await tell("Usage", { session_id: main, usage })
  }

  return {
    "chat.message": async (input, output) => {
      main ||= input.sessionID
      if (input.sessionID !== main) return
      failed = false
      const prompt = output.parts.map((part) => part.text ?? "").join("")
      await tell("UserPromptSubmit", { session_id: main, prompt })
    },
    "tool.execute.before": async (input) => {
      await tell("PreToolUse", { session_id: main, tool_name: input.tool })
    },
    "tool.execute.after": async (input) => {
      await tell("PostToolUse", { session_id: main, tool_name: input.tool })
    },
    event: async ({ event }) => {
      if (main && event.type === "message.updated") await used(event.properties.info)
      const id = event.properties?.sessionID
      if (!main || (id && id !== main)) return
      switch (event.type) {
        case "session.idle":
          if (turns) await idle(id)
          break
        case "session.error": {
          const error = event.properties.error ?? {}
          failed = true
          const code = error.data?.statusCode ? `"statusCode":${error.data.statusCode} ` : "" // as its stream shows it
          await tell("StopFailure", { session_id: main, error: error.name ?? "error", error_details: code + (error.data?.message ?? "") })
          break
        }
        case "permission.asked":
          await tell("PermissionRequest", { session_id: main })
          break
        case "question.asked":
          await tell("Elicitation", { session_id: main })
          break
      }
    },
  }
}
