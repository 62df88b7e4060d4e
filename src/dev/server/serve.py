# Runs the agent server.
class Config(uvicorn.Config):
    def load(self):
        super().load()
        if self.port in options["guard"]["ports"]:
            self.loaded_app = Guard(Requests(self.loaded_app), options["guard"])


# The part for JavaScript has a server of its own.
uvicorn.Config = Config


class Server(PromptServer):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        if not has_record:
            await self.record_modules()

    async def shutdown(self, sockets=None):
        await asyncio.gather(super().shutdown(sockets), self.record_modules())

    async def record_modules(self):
        if standby:
            # In a thread, since the server refuses blocking calls by now.
            await asyncio.to_thread(record_modules, standby["modules"])


server = Server(Config(**options["server"]))
server.run(sockets)
if not server.started:
    sys.exit(3)
